"""Records asked of the leader, of a follower and of a broker that has nothing of the topic, with
leader epochs that are known, over and yet to come."""

from typing import Any
from uuid import UUID

from compat_tests.differ.cluster.cases import case
from compat_tests.differ.cluster.nodes import PLACES, Nodes
from compat_tests.differ.record_cases import fetch, list_offsets
from compat_tests.differ.side import Side, batch_of
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey

PRODUCE, FETCH = ApiKey.PRODUCE, ApiKey.FETCH
LIST_OFFSETS, EPOCHS = ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH
# Of a partition that was led twice: known to nobody, over, the present one, not yet there.
LEADER_EPOCHS = (-1, 0, 1, 2, 9)


@case(PRODUCE)
def produce_to_who_does_not_lead(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2], 1: [2, 1]})
    for node_id in PLACES.values():
        side = nodes.broker(node_id)
        for acks in (-1, 1):
            side.ask(PRODUCE, side.produce(topic, batch_of(b"1"), acks=acks))
        both = side.produce(topic, batch_of(b"1"))
        both["topic_data"][0]["partition_data"].append({"index": 1, "records": batch_of(b"2")})
        side.ask(PRODUCE, both)


@case(PRODUCE)
def produce_below_the_least_in_sync(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1]}, {"min.insync.replicas": "2"})
    side = nodes.broker(1)
    for acks in (-1, 1):
        side.ask(PRODUCE, side.produce(topic, batch_of(b"1"), acks=acks))


@case(FETCH)
def fetch_from_who_does_not_lead(nodes: Nodes) -> None:
    """A follower serves consumers, too (KIP-392), those that name no epoch of another leader."""
    topic = led_twice(nodes)
    for node_id in PLACES.values():
        side = nodes.broker(node_id)
        for epoch in LEADER_EPOCHS:
            side.ask(FETCH, fetch(side, topic, current_leader_epoch=epoch))
        side.ask(FETCH, fetch(side, topic, offset=2))
        side.ask(FETCH, fetch(side, topic, offset=99))


@case(FETCH, since=12)
def fetch_behind_a_log_that_has_parted(nodes: Nodes) -> None:
    topic = led_twice(nodes)
    side = nodes.broker(PLACES["leader"])
    for epoch in (0, 1, 2, 3):
        for offset in (0, 1, 2, 3, 9):
            side.ask(FETCH, fetch(side, topic, offset=offset, last_fetched_epoch=epoch))


@case(FETCH)
def fetch_as_a_replica_that_is_none(nodes: Nodes) -> None:
    topic = led_twice(nodes)
    for node_id in PLACES.values():
        side = nodes.broker(node_id)
        for replica in (PLACES["stranger"], 77):
            for epoch in (-1, 0, 2):
                body = fetch(side, topic, current_leader_epoch=epoch)
                state = {"replica_id": replica, "replica_epoch": -1}
                side.ask(FETCH, {**body, "replica_id": replica, "replica_state": state})


@case(FETCH, since=13)
def fetch_by_an_id_that_nobody_knows(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2]})
    for node_id in PLACES.values():
        side = nodes.broker(node_id)
        body = fetch(side, topic)
        body["topics"][0]["topic_id"] = UUID(int=4711)
        side.ask(FETCH, body)


@case(LIST_OFFSETS)
def offsets_from_who_does_not_lead(nodes: Nodes) -> None:
    topic = led_twice(nodes)
    for node_id in PLACES.values():
        side = nodes.broker(node_id)
        for timestamp in (-1, -2, 1):
            side.ask(LIST_OFFSETS, list_offsets(topic, timestamp))
        for epoch in LEADER_EPOCHS:
            side.ask(LIST_OFFSETS, list_offsets(topic, -1, current_leader_epoch=epoch))
        # -2 debugs: any replica answers it. Others are replicas, that are asked as such.
        for replica in (-2, PLACES["follower"], PLACES["stranger"]):
            side.ask(LIST_OFFSETS, {**list_offsets(topic, -1), "replica_id": replica})


@case(EPOCHS)
def ends_of_epochs_from_who_does_not_lead(nodes: Nodes) -> None:
    topic = led_twice(nodes)
    for node_id in PLACES.values():
        side = nodes.broker(node_id)
        for wanted in LEADER_EPOCHS:
            side.ask(EPOCHS, end_of_epoch(topic, wanted, current=-1))
        for current in LEADER_EPOCHS:
            side.ask(EPOCHS, end_of_epoch(topic, 0, current=current))


@case(ApiKey.DELETE_RECORDS)
def delete_records_where_they_are_not_led(nodes: Nodes) -> None:
    topic = led_twice(nodes)
    for node_id in (PLACES["follower"], PLACES["stranger"], PLACES["leader"]):
        for offset in (1, 99):
            rows = [{"partition_index": 0, "offset": offset}]
            body = {"topics": [{"name": topic, "partitions": rows}], "timeout": 10_000}
            nodes.broker(node_id).ask(ApiKey.DELETE_RECORDS, body)
    nodes.broker(PLACES["leader"]).ask(LIST_OFFSETS, list_offsets(topic, -2))


@case(ApiKey.DESCRIBE_PRODUCERS)
def producers_where_they_do_not_write(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2]})
    side = nodes.broker(1)
    side.write(topic, b"1", producer_id=12345, producer_epoch=3, base_sequence=0)
    nodes.ask_brokers(
        ApiKey.DESCRIBE_PRODUCERS, {"topics": [{"name": topic, "partition_indexes": [0]}]}
    )


@case(ApiKey.WRITE_TXN_MARKERS)
def markers_for_who_does_not_lead(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2]})
    side = nodes.broker(1)
    side.write(topic, b"1", producer_id=4711, producer_epoch=0, base_sequence=0)
    row = {"producer_id": 4711, "producer_epoch": 0, "transaction_result": True}
    topics = [{"name": topic, "partition_indexes": [0]}]
    for node_id in (PLACES["follower"], PLACES["stranger"], PLACES["leader"]):
        body = {"markers": [{**row, "topics": topics, "coordinator_epoch": 0}]}
        nodes.broker(node_id).ask(ApiKey.WRITE_TXN_MARKERS, body)


@case(ApiKey.ALTER_REPLICA_LOG_DIRS)
def directories_of_replicas_that_are_elsewhere(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2]})
    for node_id in PLACES.values():
        path = str(nodes.cluster.data(node_id))
        body = {"dirs": [{"path": path, "topics": [{"name": topic, "partitions": [0]}]}]}
        nodes.broker(node_id).ask(ApiKey.ALTER_REPLICA_LOG_DIRS, body)


def led_twice(nodes: Nodes) -> str:
    """A topic with two records of its first leader's epoch and one of its third; the second
    leader wrote none. The follower has them, too, and knows that they are committed."""
    topic = nodes.topic({0: [1, 2]})
    nodes.broker(1).write(topic, b"1", b"2")
    nodes.lead(topic, 0, [2, 1])
    nodes.lead(topic, 0, [1, 2])
    nodes.broker(1).write(topic, b"3")
    follower = nodes.broker(PLACES["follower"])
    wait_for("the follower has them", lambda: _end(follower, topic) == 3, every_s=0.01)
    return topic


def _end(side: Side, topic: str) -> int:
    answer = side.call(FETCH, fetch(side, topic, offset=0))
    end: int = answer.responses[0].partitions[0].high_watermark
    return end


def end_of_epoch(topic: str, wanted: int, *, current: int) -> Any:
    row = {"partition": 0, "current_leader_epoch": current, "leader_epoch": wanted}
    return {"replica_id": -2, "topics": [{"topic": topic, "partitions": [row]}]}
