"""docs/METRICS.md, written from the families.

python -m kafkapy.http.metrics.document            writes docs/METRICS.md
"""

from pathlib import Path
from typing import Final

from kafkapy.http.metrics import cluster, groups, hooks, partitions, process, requests, telemetry
from kafkapy.http.metrics.families import Family

PATH: Final = Path(__file__).parents[3] / "docs" / "METRICS.md"

_HEAD: Final = """\
# Metrics

<!-- Written by `python -m kafkapy.http.metrics.document`; do not edit. -->

`kafkapy serve --http` tells them at `/metrics`, in Prometheus' text format. Where kafka_exporter
has the same, the name is its; beside each stands what Apache Kafka calls it.

- Every node tells of itself: of partitions it has, groups and transactions it coordinates. What a
  leader tells of a partition comes from one node; sums over all nodes are of the cluster.
- Where there is an authorizer, who asks needs DESCRIBE on the cluster.
- Cardinality is bounded: `http.metrics.max.partitions` (1,000) partitions, and as many of groups,
  have lines of their own, those whose names come first; `kafkapy_metrics_left_out` says how many
  have not. Sums count them all.
- A group is behind by what it has not committed. Of a partition that a member has and of which
  nothing is committed, only the member knows where it began (`auto.offset.reset`: at the start, or
  at the end). So it is counted from where the partition ended when it was first seen so: behind it
  is by that at least, and what was there before is not counted. Groups of Kafka's console consumer
  (`console-consumer-<number>`), which means to commit nothing, are not counted so.
- Nothing is counted by request unless HTTP is on.
- [deploy/prometheus](../deploy/prometheus) has a configuration for Prometheus, rules, and a
  dashboard for Grafana. Their queries are held to this list by a test, and asked of a Prometheus
  that scrapes a node by `make exporters`.
"""

_PARTS: Final = (
    ("Cluster", cluster.FAMILIES),
    ("Partitions and directories", partitions.FAMILIES),
    ("Groups and transactions", groups.FAMILIES),
    ("Requests and connections", requests.FAMILIES),
    ("Clients", telemetry.FAMILIES),
    ("Hooks", hooks.FAMILIES),
    ("The process", process.FAMILIES),
)


def document() -> str:
    parts = [_HEAD]
    for title, families in _PARTS:
        rows = "\n".join(_row(one) for one in families)
        head = "| metric | kind | labels | what | Apache Kafka's |\n|---|---|---|---|---|"
        parts.append(f"## {title}\n\n{head}\n{rows}\n")
    return "\n".join(parts)


def _row(one: Family) -> str:
    kafkas = f"`{one.kafkas}`" if ":" in one.kafkas and " " not in one.kafkas else one.kafkas
    cells = (f"`{one.name}`", one.kind, ", ".join(one.labels), one.told, kafkas)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PATH.write_text(document(), encoding="utf-8")
