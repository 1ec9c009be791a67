"""Which brokers clients are told of."""

from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from kafkapy.broker.metadata.cluster_view import ClusterView
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.registrations import broker_from
from kafkapy.kraft.records.metadata import Endpoint, RegisterBrokerRecord


def view(*brokers: RegisterBrokerRecord) -> ClusterView:
    image: Any = SimpleNamespace(brokers={one.broker_id: broker_from(one) for one in brokers})
    return ClusterView(lambda: cast("MetadataImage", image))


def broker(node_id: int, *, fenced: bool) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=node_id,
        incarnation_id=UUID(int=node_id),
        broker_epoch=1,
        end_points=(Endpoint(name="PLAIN", host="h", port=9092, security_protocol=0),),
        features=(),
        fenced=fenced,
    )


def told(cluster: ClusterView, answering: int, recently_dead: tuple[int, ...] = ()) -> list[int]:
    found = cluster.brokers_for_clients("PLAIN", answering, recently_dead)
    return [one.node_id for one in found]


def test_clients_are_told_of_who_is_alive_and_who_died_a_moment_ago() -> None:
    cluster = view(*(broker(node_id, fenced=node_id > 1) for node_id in (1, 2, 3)))
    assert told(cluster, 1) == [1]
    assert told(cluster, 1, (3,)) == [1, 3]


def test_a_fenced_node_that_answers_is_not_among_those_who_are_alive() -> None:
    assert told(view(broker(1, fenced=False), broker(2, fenced=True)), 2) == [1]


def test_clients_are_never_told_that_nobody_is_there() -> None:
    """The last node to stop is fenced before it hangs up. librdkafka 2.16, told of no brokers,
    drops all that it knows: a consumer and a producer were silent for good after a restart."""
    cluster = view(broker(1, fenced=True), broker(2, fenced=True))
    assert told(cluster, 2) == [2]
