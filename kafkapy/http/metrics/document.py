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

`kafkapy serve --http` serves them at `/metrics`, in Prometheus' text format. Where kafka_exporter
has the same metric, it has kafka_exporter's name. The last column is what Apache Kafka calls it.

- **Which node.** Every node reports the partitions it has, and the groups and transactions it
  coordinates. What a leader reports of a partition comes from one node only, so sums over all nodes
  are those of the cluster.
- **Permissions.** Where there is an authorizer, whoever asks needs DESCRIBE on the cluster.
- **Cardinality** is bounded: `http.metrics.max.partitions` (1,000) partitions, and as many of
  groups, have lines of their own, the first ones by name. `kafkapy_metrics_left_out` says how many
  have not. Sums count them all.
- **Lag** is what a group has not committed. If a member has a partition of which nothing is
  committed, only the member knows where it began (`auto.offset.reset`: at the start, or at the
  end). So its lag is counted from where the partition ended when it was first seen in that state.
  The true lag is at least that; what was there before is not counted. Groups of Kafka's console
  consumer (`console-consumer-<number>`) never mean to commit, and are not counted in that way.
- **Cost.** Nothing is counted by request unless HTTP is on.
- **Dashboards.** [deploy/prometheus](../deploy/prometheus) has a configuration for Prometheus,
  rules, and a dashboard for Grafana. A test holds their queries to this list, and `make exporters`
  asks them of a Prometheus that scrapes a node.
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
