"""What a node knows for its alerts: of itself, of groups and transactions it coordinates, and of
the cluster's partitions."""

from kafkapy.http.alerting.judge import Facts
from kafkapy.http.metrics.groups import all_transactions, is_open
from kafkapy.http.metrics.partitions import is_under_min
from kafkapy.http.site import Site
from kafkapy.http.watching.certificates import certificates


def gathered(site: Site) -> Facts:
    node = site.link.node
    wall_ms = node.clock.wall()
    return Facts(
        node.clock.now(),
        wall_ms,
        lags=site.lag.found,
        members=site.lag.members,
        offline=_offline(site),
        under_min_isr=_under_min_isr(site),
        usable_bytes=_usable(site),
        certificates=certificates(site),
        transactions={
            one.transactional_id: max(0, wall_ms - one.started_ms) / 1000
            for one in all_transactions(site)
            if is_open(one)
        },
    )


def _offline(site: Site) -> list[str]:
    return [
        f"{topic.name}-{index}"
        for topic in list(site.link.image.topics_by_name.values())
        for index, state in list(topic.partitions.items())
        if not state.has_leader
    ]


def _under_min_isr(site: Site) -> list[str]:
    broker = site.link.node.broker
    return [
        "{}-{}".format(*one.topic_partition)
        for one in (() if broker is None else broker.partitions.snapshot())
        if one.is_leader and is_under_min(one)
    ]


def _usable(site: Site) -> dict[str, int]:
    node = site.link.node
    if node.broker is None:
        return {}
    logs = node.broker.logs
    online = (one for one in site.config.data_directories if not logs.is_directory_offline(one))
    return {path: node.disk.space(path)[1] for path in online}
