"""The cluster at a glance: brokers, the quorum, and what is not as it should be."""

from collections import Counter
from typing import Any, Final, NamedTuple

import trio

from kafkapy.http.alerting.judge import FIRING
from kafkapy.http.console.asked import Asked, Pages
from kafkapy.http.console.charts import Chart, byte_rate, chart, rate
from kafkapy.http.kafka.errors import KafkaError, check
from kafkapy.http.watching.history import BYTES_IN, BYTES_OUT, RECORDS
from kafkapy.kraft.features import metadata_version_name
from kafkapy.protocol.api_keys import ApiKey

_QUORUM: Final = {
    "topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
}
_MOST_NAMED: Final = 20
# So many partitions are looked at before others on this thread get their turn.
_AT_ONCE: Final = 5000


class Health(NamedTuple):
    topics: int
    partitions: int
    leads: Counter[int]
    replicas: Counter[int]
    offline: list[str]
    under_replicated: list[str]
    offline_count: int
    under_count: int


async def show(asked: Asked) -> Any:
    if not await asked.site.may_describe_cluster(asked.request):
        return asked.page(
            "overview.html", health=None, quorum=None, brokers=(), about={}, firing=()
        )
    image, node = asked.kafka.image, asked.site.link.node
    health = await _health(asked)
    known = list(image.brokers.values())
    brokers = [
        {
            "id": one.id,
            "rack": one.rack,
            "state": "fenced" if one.fenced else "stopping" if one.in_controlled_shutdown else "up",
            "endpoints": [f"{each.name} {each.host}:{each.port}" for each in one.endpoints],
            "leads": health.leads[one.id],
            "replicas": health.replicas[one.id],
        }
        for one in sorted(known, key=lambda one: one.id)
    ]
    quorum, quorum_failed = await _quorum(asked)
    about = {
        "cluster": node.cluster_id,
        "node": node.node_id,
        "version": metadata_version_name(image.metadata_version),
        "quorum_failed": quorum_failed,
    }
    firing = [one for one in asked.site.judge.alerts if one.state == FIRING]
    return asked.page(
        "overview.html",
        health=health,
        quorum=quorum,
        brokers=brokers,
        about=about,
        firing=firing,
        charts=_charts(asked),
    )


def _charts(asked: Asked) -> list[Chart]:
    past = asked.site.history
    rows = (
        ("Records written", RECORDS, rate),
        ("Bytes written", BYTES_IN, byte_rate),
        ("Bytes read", BYTES_OUT, byte_rate),
    )
    return [chart(title, past.of_node(one), past.wall_ms, how) for title, one, how in rows]


async def _health(asked: Asked) -> Health:
    leads: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    offline: list[str] = []
    under: list[str] = []
    count = offline_count = under_count = 0
    topics = list(asked.kafka.image.topics_by_name.values())
    for topic in topics:
        for index, one in list(topic.partitions.items()):
            count += 1
            if count % _AT_ONCE == 0:
                await trio.sleep(0)
            replicas.update(one.replicas)
            if one.has_leader:
                leads[one.leader] += 1
            else:
                offline_count += 1
                if len(offline) < _MOST_NAMED:
                    offline.append(f"{topic.name}-{index}")
            if len(one.isr) < len(one.replicas):
                under_count += 1
                if len(under) < _MOST_NAMED:
                    under.append(f"{topic.name}-{index}")
    return Health(len(topics), count, leads, replicas, offline, under, offline_count, under_count)


async def _quorum(asked: Asked) -> tuple[dict[str, Any] | None, str | None]:
    """And why it is not known, if it is not: a page about a cluster in trouble is still a page."""
    try:
        with trio.fail_after(2):
            answer = await asked.kafka.ask(ApiKey.DESCRIBE_QUORUM, _QUORUM)
        check(answer.error_code, "the quorum")
        found = answer.topics[0].partitions[0]
        check(found.error_code, "the quorum")
    except (KafkaError, trio.TooSlowError) as failed:
        return None, str(failed) or "the quorum does not answer"
    everybody = (*found.current_voters, *found.observers)
    end = max((one.log_end_offset for one in everybody), default=0)
    rows = [
        {
            "id": int(one.replica_id),
            "role": "leader" if one.replica_id == found.leader_id else kind,
            "end": one.log_end_offset,
            "lag": end - one.log_end_offset,
        }
        for kind, some in (("voter", found.current_voters), ("observer", found.observers))
        for one in some
    ]
    rows.sort(key=lambda row: (row["role"] != "leader", row["role"] != "voter", row["id"]))
    return {
        "leader": int(found.leader_id),
        "epoch": found.leader_epoch,
        "high_watermark": found.high_watermark,
        "rows": rows,
    }, None


PAGES: Pages = (("GET", "/", show), ("GET", "/console/", show))
