"""What a cluster holds and where: brokers with their racks, replicas, what is moved right now."""

from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple

from kafkapy.cli.client import Client, address_of, check
from kafkapy.cli.cluster.plan import Placement, Site, Where
from kafkapy.cli.main import Failed
from kafkapy.protocol.api_keys import ApiKey

_BROKERS: Final = 1  # what DescribeCluster calls them
_TIMEOUT_MS: Final = 60_000


class Broker(NamedTuple):
    broker_id: int
    rack: str | None
    address: str
    is_fenced: bool


class Moving(NamedTuple):
    """Of a partition whose replicas change: all that it has now, and how they will change."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(one for one in self.replicas if one not in self.removing)


class Layout(NamedTuple):
    """`sizes`: bytes of each replica, as its broker tells; those that cannot be asked tell none."""

    brokers: dict[int, Broker]
    placement: Placement
    leaders: dict[Where, int]
    isr: dict[Where, frozenset[int]]
    sizes: dict[tuple[Where, int], int]

    def site(self, chosen: Collection[int] | None = None) -> Site:
        """Of the chosen brokers; those that are fenced keep what they have and get no more."""
        wanted = set(self.brokers) if chosen is None else set(chosen)
        if unknown := sorted(wanted - set(self.brokers)):
            there = ", ".join(map(str, sorted(self.brokers)))
            raise Failed(f"there is no broker {unknown[0]}; there are {there}")
        return Site(
            {one: self.brokers[one].rack for one in wanted},
            frozenset(one for one in wanted if not self.brokers[one].is_fenced),
        )

    def size(self, where: Where) -> int:
        """Of the largest replica: what a new one has to fetch, about."""
        replicas = self.placement.get(where, ())
        return max((self.sizes.get((where, one), 0) for one in replicas), default=0)

    def held(self, broker_id: int) -> list[Where]:
        return sorted(where for where, all_ in self.placement.items() if broker_id in all_)


def read_layout(client: Client, topics: Collection[str] | None = None) -> Layout:
    """Of these topics, or of all. What is being moved counts as having arrived."""
    brokers = read_brokers(client)
    found = client.metadata(None if topics is None else sorted(topics))
    placement, leaders, isr = {}, {}, {}
    for topic in found.topics:
        check(topic.error_code, f"topic {topic.name}")
        for one in topic.partitions:
            where = (str(topic.name), int(one.partition_index))
            placement[where] = tuple(map(int, one.replica_nodes))
            leaders[where] = int(one.leader_id)
            isr[where] = frozenset(map(int, one.isr_nodes))
    for where, one in read_moving(client).items():
        if where in placement:
            placement[where] = one.target
    return Layout(brokers, placement, leaders, isr, read_sizes(brokers.values()))


def read_brokers(client: Client) -> dict[int, Broker]:
    """All that are registered, fenced ones too."""
    asked = {
        "include_cluster_authorized_operations": False,
        "endpoint_type": _BROKERS,
        "include_fenced_brokers": True,
    }
    answer = client.ask(ApiKey.DESCRIBE_CLUSTER, asked)
    check(answer.error_code, "the cluster", answer.error_message)
    return {
        int(one.broker_id): Broker(
            int(one.broker_id), one.rack, address_of(one), bool(getattr(one, "is_fenced", False))
        )
        for one in answer.brokers
    }


def read_moving(client: Client) -> dict[Where, Moving]:
    answer = client.ask(
        ApiKey.LIST_PARTITION_REASSIGNMENTS, {"timeout": _TIMEOUT_MS, "topics": None}
    )
    check(answer.error_code, "what is moved", answer.error_message)
    return {
        (str(topic.name), int(one.partition_index)): Moving(
            tuple(map(int, one.replicas)),
            tuple(map(int, one.adding_replicas)),
            tuple(map(int, one.removing_replicas)),
        )
        for topic in answer.topics
        for one in topic.partitions
    }


def read_sizes(
    brokers: Iterable[Broker], wanted: Collection[Where] | None = None
) -> dict[tuple[Where, int], int]:
    sizes = {}
    for broker in brokers:
        if broker.is_fenced:
            continue
        try:
            with Client(broker.address) as client:
                answer = client.ask(ApiKey.DESCRIBE_LOG_DIRS, {"topics": _topics(wanted)})
        except Failed:
            continue  # it has gone since; a plan needs no sizes
        for directory in answer.results:
            for topic in directory.topics:
                for one in topic.partitions:
                    if not one.is_future_key:
                        where = (str(topic.name), int(one.partition_index))
                        sizes[where, broker.broker_id] = int(one.partition_size)
    return sizes


def _topics(wanted: Collection[Where] | None) -> Any:
    if wanted is None:
        return None
    topics: dict[str, list[int]] = {}
    for topic, index in wanted:
        topics.setdefault(topic, []).append(index)
    return [{"topic": topic, "partitions": indexes} for topic, indexes in topics.items()]
