"""Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, DeleteRecords, InitProducerId."""

from typing import Any
from uuid import UUID

from compat_tests.differ.cases import case
from compat_tests.differ.side import STAMP, Side, batch_of
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import Codec

PRODUCE, FETCH = ApiKey.PRODUCE, ApiKey.FETCH
LIST_OFFSETS, EPOCHS = ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH


@case("records", PRODUCE)
def produce_and_fetch_back(side: Side) -> None:
    topic = side.topic()
    side.ask(PRODUCE, side.produce(topic, batch_of(b"1", b"2")))
    side.ask(PRODUCE, side.produce(topic, batch_of(b"3"), acks=1))
    side.ask(FETCH, fetch(side, topic))


@case("records", PRODUCE)
def produce_with_bad_acks(side: Side) -> None:
    topic = side.topic()
    side.ask(PRODUCE, side.produce(topic, batch_of(b"1"), acks=2))


@case("records", PRODUCE)
def produce_to_what_is_not_there(side: Side) -> None:
    topic = side.topic()
    side.ask(PRODUCE, side.produce(topic, batch_of(b"1"), partition=9))
    side.ask(PRODUCE, side.produce(f"{side.name}-unknown", batch_of(b"1")))


@case("records", PRODUCE)
def produce_without_acks_then_ask(side: Side) -> None:
    topic = side.topic()
    side.send_only(PRODUCE, side.produce(topic, batch_of(b"1"), acks=0), side.version)
    side.ask(LIST_OFFSETS, list_offsets(topic, -1))


@case("records", PRODUCE)
def produce_bytes_that_are_no_batch(side: Side) -> None:
    topic = side.topic()
    good = batch_of(b"1", b"2")
    wrong_crc = bytearray(good)
    wrong_crc[-1] ^= 1
    old_magic = bytearray(good)
    old_magic[16] = 1
    bad_magic = good[:16] + b"\7" + good[17:]
    for records in (
        b"",
        bytes(wrong_crc),
        bytes(old_magic),
        good[:-1],
        good + good,
        b"x" * 20,
        bad_magic,
        good + b"x" * 20,
        good + good[:40],
        good + bad_magic,
        good[:8] + b"\0\0\0\5" + good[12:],
    ):
        side.ask(PRODUCE, side.produce(topic, records))
    both = side.produce(topic, good)
    both["topic_data"][0]["partition_data"].append({"index": 1, "records": bad_magic})
    side.ask(PRODUCE, both)
    side.ask(LIST_OFFSETS, list_offsets(topic, -1))


@case("records", PRODUCE)
def produce_over_the_limit(side: Side) -> None:
    topic = side.topic(configs={"max.message.bytes": "500"})
    side.ask(PRODUCE, side.produce(topic, batch_of(b"x" * 600)))
    side.ask(PRODUCE, side.produce(topic, batch_of(b"x" * 100)))


@case("records", PRODUCE)
def produce_records_that_a_topic_refuses(side: Side) -> None:
    compacted = side.topic(configs={"cleanup.policy": "compact"})
    side.ask(PRODUCE, side.produce(compacted, batch_of(b"1", b"2", key=None)))
    strict = side.topic(configs={"message.timestamp.before.max.ms": "1000"})
    side.ask(PRODUCE, side.produce(strict, batch_of(b"1", b"2")))


@case("records", PRODUCE)
def produce_every_codec(side: Side) -> None:
    topic = side.topic()
    for codec in Codec:
        side.ask(PRODUCE, side.produce(topic, batch_of(b"value" * 20, codec=codec)))
    side.ask(FETCH, fetch(side, topic))


@case("records", PRODUCE)
def produce_idempotently(side: Side) -> None:
    """In order, again, a gap, an old epoch, and a sequence that nobody knows."""
    topic = side.topic()
    producer: Any = {"producer_id": new_producer_id(side), "producer_epoch": 1}

    def send(sequence: int, epoch: int = 1) -> None:
        batch = {**producer, "producer_epoch": epoch, "base_sequence": sequence}
        side.ask(PRODUCE, side.produce(topic, batch_of(b"1", b"2", **batch)))

    for sequence in (0, 2, 2, 0, 6, 4):
        send(sequence)
    send(6, epoch=0)
    send(1, epoch=2)
    send(0, epoch=2)


@case("records", FETCH)
def fetch_from_several_offsets(side: Side) -> None:
    topic = side.topic(partitions=2)
    side.write(topic, b"1", b"2")
    side.write(topic, b"3")
    for offset in (0, 1, 2, 3, 4, -1, 99):
        side.ask(FETCH, fetch(side, topic, offset=offset))
    side.ask(FETCH, fetch(side, topic, partition=1))


@case("records", FETCH)
def fetch_what_is_compressed_with_zstandard(side: Side) -> None:
    topic = side.topic()
    side.write(topic, b"1" * 100, codec=Codec.ZSTD)
    for offset in (0, 1, 5):
        side.ask(FETCH, fetch(side, topic, offset=offset))


@case("records", FETCH)
def fetch_committed_only(side: Side) -> None:
    topic = side.topic()
    side.write(topic, b"1")
    for offset in (0, 1, 5):
        side.ask(FETCH, {**fetch(side, topic, offset=offset), "isolation_level": 1})


@case("records", FETCH)
def fetch_with_small_limits(side: Side) -> None:
    topic = side.topic()
    for _ in range(3):
        side.write(topic, b"x" * 100)
    side.ask(FETCH, fetch(side, topic, partition_max_bytes=1))
    side.ask(FETCH, {**fetch(side, topic), "max_bytes": 1})
    side.ask(FETCH, fetch(side, topic, partition_max_bytes=300))


@case("records", FETCH)
def fetch_what_is_not_there(side: Side) -> None:
    topic = side.topic()
    side.ask(FETCH, fetch(side, topic, partition=5))
    side.ask(FETCH, fetch(side, f"{side.name}-unknown"))


@case("records", FETCH, since=9)
def fetch_with_wrong_epochs(side: Side) -> None:
    topic = side.topic()
    side.write(topic, b"1")
    side.ask(FETCH, fetch(side, topic, current_leader_epoch=0))
    side.ask(FETCH, fetch(side, topic, current_leader_epoch=7))


@case("records", FETCH, since=7)
def fetch_sessions(side: Side) -> None:
    topic = side.topic(partitions=2)
    side.write(topic, b"1")
    opened = side.ask(FETCH, {**fetch(side, topic), "session_epoch": 0})
    if opened is None:
        return
    session = {"session_id": opened.session_id, "topics": [], "max_wait": 10}
    body = fetch(side, topic)
    side.ask(FETCH, {**body, **session, "session_epoch": 1})
    side.write(topic, b"2")
    forgotten = [{"topic": topic, "topic_id": side.topic_id(topic), "partitions": [0]}]
    add = {**fetch(side, topic, partition=1), "session_id": opened.session_id, "max_wait": 10}
    side.ask(FETCH, {**add, "session_epoch": 2})
    side.ask(FETCH, {**body, **session, "session_epoch": 3, "forgotten_topics_data": forgotten})
    side.ask(FETCH, {**body, **session, "session_epoch": 9})
    side.ask(FETCH, {**body, **session, "session_epoch": -1})
    side.ask(FETCH, {**body, **session, "session_epoch": 4})
    side.ask(FETCH, {**body, "session_id": 4711, "session_epoch": 1})


@case("records", LIST_OFFSETS)
def list_offsets_at_every_time(side: Side) -> None:
    topic = side.topic()
    side.write(topic, b"1", b"2", b"3")
    for when in (-1, -2, -3, -4, -5, -6, -7, 0, STAMP, STAMP + 1, STAMP + 2, STAMP + 3):
        side.ask(LIST_OFFSETS, list_offsets(topic, when))
        side.ask(LIST_OFFSETS, {**list_offsets(topic, when), "isolation_level": 1})


@case("records", LIST_OFFSETS)
def list_offsets_of_an_empty_partition_and_of_none(side: Side) -> None:
    topic = side.topic()
    for when in (-1, -2, -3, STAMP):
        side.ask(LIST_OFFSETS, list_offsets(topic, when))
    side.ask(LIST_OFFSETS, list_offsets(topic, -1, partition=3))
    side.ask(LIST_OFFSETS, list_offsets(f"{side.name}-unknown", -1))


@case("records", LIST_OFFSETS, since=4)
def list_offsets_with_wrong_epochs(side: Side) -> None:
    topic = side.topic()
    for epoch in (0, 9):
        side.ask(LIST_OFFSETS, list_offsets(topic, -1, current_leader_epoch=epoch))


@case("records", EPOCHS)
def end_offsets_of_leader_epochs(side: Side) -> None:
    topic = side.topic()
    side.write(topic, b"1", b"2")
    for name, partition in ((topic, 0), (topic, 9), (f"{side.name}-unknown", 0)):
        for epoch in (-1, 0, 5):
            row = {"partition": partition, "current_leader_epoch": -1, "leader_epoch": epoch}
            body = {"replica_id": -1, "topics": [{"topic": name, "partitions": [row]}]}
            side.ask(EPOCHS, body)


@case("records", ApiKey.DELETE_RECORDS)
def delete_records_before_offsets(side: Side) -> None:
    topic = side.topic()
    side.write(topic, b"1", b"2", b"3")
    for offset, partition in ((1, 0), (0, 0), (99, 0), (-2, 0), (-1, 0), (0, 7)):
        row = {"partition_index": partition, "offset": offset}
        body = {"topics": [{"name": topic, "partitions": [row]}], "timeout": 5000}
        side.ask(ApiKey.DELETE_RECORDS, body)
    row = {"partition_index": 0, "offset": 0}
    unknown = {"name": f"{side.name}-unknown", "partitions": [row]}
    side.ask(ApiKey.DELETE_RECORDS, {"topics": [unknown], "timeout": 1000})
    side.ask(LIST_OFFSETS, list_offsets(topic, -2))


@case("records", ApiKey.INIT_PRODUCER_ID)
def producer_ids_without_transactions(side: Side) -> None:
    side.ask(ApiKey.INIT_PRODUCER_ID, {"transactional_id": None, "transaction_timeout": 1000})
    side.ask(ApiKey.INIT_PRODUCER_ID, {"transactional_id": "", "transaction_timeout": 1000})


def new_producer_id(side: Side) -> int:
    body = {"transactional_id": None, "transaction_timeout": 0}
    given: list[int] = []

    def is_given() -> bool:
        given.append(side.call(ApiKey.INIT_PRODUCER_ID, body).producer_id)
        return given[-1] >= 0  # a server that has just started has no block of them yet

    wait_for("a producer id", is_given)
    return given[-1]


def fetch(side: Side, topic: str, *, offset: int = 0, partition: int = 0, **more: Any) -> Any:
    try:
        topic_id = side.topic_id(topic)
    except AssertionError:
        topic_id = UUID(int=4711)
    row = {
        "partition": partition,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "partition_max_bytes": 1_000_000,
        **more,
    }
    return {
        "replica_id": -1,
        "max_wait": 0,
        "min_bytes": 1,
        "max_bytes": 10_000_000,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": topic, "topic_id": topic_id, "partitions": [row]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }


def list_offsets(topic: str, timestamp: int, *, partition: int = 0, **more: Any) -> Any:
    row = {"partition_index": partition, "timestamp": timestamp, **more}
    topics = [{"name": topic, "partitions": [row]}]
    return {"replica_id": -1, "isolation_level": 0, "topics": topics, "timeout": 3000}
