"""Groups that this node coordinates, and transactions."""

from kafkapy.http.alerting.judge import stuck_seconds
from kafkapy.http.metrics.families import GAUGE, Family, Page
from kafkapy.http.metrics.partitions import LEFT_OUT
from kafkapy.http.site import Site
from kafkapy.txn.machine import TransactionMachine
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import Transaction

_EXPORTER = "kafka_exporter"
_LAG = "kafka.consumer:type=consumer-fetch-manager-metrics,client-id=*: records-lag"
_OF = ("consumergroup", "topic", "partition")
MEMBERS = Family(
    "kafka_consumergroup_members", GAUGE, "Members of a group.", ("consumergroup",), _EXPORTER
)
COMMITTED = Family(
    "kafka_consumergroup_current_offset", GAUGE, "What a group has committed.", _OF, _EXPORTER
)
LAG = Family(
    "kafka_consumergroup_lag", GAUGE,
    "Records that it has not read. Where a member has committed nothing, those that have come since"
    " that was first seen: only the member knows where it began.", _OF, _LAG,
)  # fmt: skip
SECONDS = Family(
    "kafka_consumergroup_lag_seconds", GAUGE, "Age of the oldest of them; 0 if none is left.", _OF
)
RATE = Family(
    "kafka_consumergroup_lag_rate", GAUGE,
    "Records a second by which the group's lag grows; below 0 it shrinks.", ("consumergroup",),
)  # fmt: skip
SUM = Family(
    "kafka_consumergroup_lag_sum", GAUGE, "Records that a group has not read, of all partitions.",
    ("consumergroup",), _EXPORTER,
)  # fmt: skip
MOST_SECONDS = Family(
    "kafka_consumergroup_lag_seconds_max", GAUGE, "How far its last partition is behind.",
    ("consumergroup",),
)  # fmt: skip
OPEN = Family(
    "kafka_transactions", GAUGE, "Transactional ids that this node coordinates, by state.",
    ("state",), "kafka.server:type=transaction-coordinator-metrics",
)  # fmt: skip
OLDEST = Family(
    "kafka_transaction_oldest_open_seconds", GAUGE,
    "For how long the oldest transaction that is not ended has been open; 0 if there is none.",
)  # fmt: skip
STUCK = Family(
    "kafka_consumergroup_stuck_seconds", GAUGE,
    "For how long a group that has members and records to read has stood at the same offset, where "
    "it has longest.", ("consumergroup",),
)  # fmt: skip
FAMILIES = (STUCK, MEMBERS, COMMITTED, LAG, SECONDS, RATE, SUM, MOST_SECONDS, OPEN, OLDEST)
_OVER = frozenset(
    {
        TransactionState.EMPTY,
        TransactionState.COMPLETE_COMMIT,
        TransactionState.COMPLETE_ABORT,
        TransactionState.DEAD,
    }
)


def collect(site: Site, page: Page) -> None:
    most = site.config.http_metrics_max_partitions
    found = site.lag.found
    page.add(LEFT_OUT, max(0, len(found) - most), "partitions of groups")
    for one in found[:most]:
        where = one.group, one.topic, one.partition
        if one.has_committed:
            page.add(COMMITTED, one.committed, *where)
        page.add(LAG, one.records, *where)
        if one.seconds is not None:
            page.add(SECONDS, one.seconds, *where)
    groups = sorted({one.group for one in found})[:most]
    sums = dict.fromkeys(groups, 0)
    rates, seconds = dict.fromkeys(groups, 0.0), dict.fromkeys(groups, 0.0)
    stuck = dict.fromkeys(groups, 0.0)
    now_ms = site.link.node.clock.now()
    for one in found:
        if one.group in sums:
            stood = stuck_seconds(one, site.lag.members, now_ms)
            stuck[one.group] = max(stuck[one.group], stood)
            sums[one.group] += one.records
            rates[one.group] += one.rate
            seconds[one.group] = max(seconds[one.group], one.seconds or 0.0)
    for group in groups:
        page.add(SUM, sums[group], group)
        page.add(RATE, rates[group], group)
        page.add(STUCK, stuck[group], group)
        page.add(MOST_SECONDS, seconds[group], group)
    for group, count in sorted(site.lag.members.items())[:most]:
        page.add(MEMBERS, count, group)
    _add_transactions(site, page)


def _add_transactions(site: Site, page: Page) -> None:
    node = site.link.node
    if node.broker is None:
        return
    counts = dict.fromkeys(TransactionState, 0)
    oldest_ms: int | None = None
    for one in all_transactions(site):
        counts[one.state] += 1
        if is_open(one):
            oldest_ms = min(one.started_ms, oldest_ms or one.started_ms)
    for state, count in counts.items():
        page.add(OPEN, count, state.label)
    age_ms = 0 if oldest_ms is None else max(0, node.clock.wall() - oldest_ms)
    page.add(OLDEST, age_ms / 1000)


def is_open(one: Transaction) -> bool:
    return one.state not in _OVER and one.started_ms >= 0


def all_transactions(site: Site) -> list[Transaction]:
    """Those that this node coordinates, as they are now."""
    broker = site.link.node.broker
    found: list[Transaction] = []
    for shard in () if broker is None else broker.transactions.shards.active_shards():
        machine = shard.machine
        if isinstance(machine, TransactionMachine):
            found += list(machine.transactions.values())
    return found
