"""Produce refused: what Apache Kafka 4.3.1 said to the same bytes, and what it left unsaid."""

from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import Codec, NewRecord, build_batch
from kafkapy.testing import Broker
from tests.broker.handlers.whole_node import request

STAMP = 1_700_000_000_000
GOOD = build_batch([NewRecord(b"key", b"1", STAMP), NewRecord(b"key", b"2", STAMP)])


def changed(position: int, byte: int) -> bytes:
    data = bytearray(GOOD)
    data[position] = byte
    return bytes(data)


def produce(
    broker: Broker,
    topic: str,
    records: bytes | None,
    *,
    partition: int = 0,
    version: int = 12,
    name: str | None = None,
) -> Any:
    if topic not in broker.topics() and not topic.startswith("no-"):
        broker.create_topic(topic)
    rows = [{"index": partition, "records": records}]
    answer = request(
        broker,
        ApiKey.PRODUCE,
        version,
        transactional_id=name,
        acks=-1,
        timeout=5000,
        topic_data=[{"name": topic, "partition_data": rows}],
    )
    return answer.responses[0].partition_responses[0]


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (GOOD[:-1], ErrorCode.INVALID_RECORD),
        (GOOD + GOOD, ErrorCode.INVALID_RECORD),
        (changed(16, 1), ErrorCode.INVALID_RECORD),
        (changed(len(GOOD) - 1, 0xFF), ErrorCode.CORRUPT_MESSAGE),
    ],
    ids=["nothing", "cut off", "twice", "magic 1", "another CRC"],
)
def test_bytes_that_are_no_batch_are_refused_without_a_sentence(
    whole_broker: Broker, records: bytes, code: ErrorCode
) -> None:
    row = produce(whole_broker, "bytes", records)
    assert (row.error_code, row.error_message, row.log_start_offset) == (code, None, -1)


@pytest.mark.parametrize("records", [changed(16, 9), changed(8, 0xFF), b"x" * 20])
def test_bytes_that_cannot_be_a_batch_of_any_format_refuse_the_whole_request(
    whole_broker: Broker, records: bytes
) -> None:
    whole_broker.create_topic(topic := f"formats-{records[16]}-{records[8]}", partitions=2)
    rows = [{"index": 0, "records": GOOD}, {"index": 1, "records": records}]
    data = [{"name": topic, "partition_data": rows}]
    body = {"transactional_id": None, "acks": -1, "timeout": 5000, "topic_data": data}
    answer = request(whole_broker, ApiKey.PRODUCE, 12, **body)
    for row in answer.responses[0].partition_responses:
        assert row.error_code == ErrorCode.CORRUPT_MESSAGE
        assert row.error_message
    assert not whole_broker.records(topic)


def test_what_only_the_log_can_refuse_tells_where_the_log_starts(whole_broker: Broker) -> None:
    producer: dict[str, Any] = {"producer_id": 12_345, "producer_epoch": 1}
    first = build_batch([NewRecord(b"k", b"v", STAMP)], **producer, base_sequence=0)
    gap = build_batch([NewRecord(b"k", b"v", STAMP)], **producer, base_sequence=7)
    assert produce(whole_broker, "sequences", first).error_code == ErrorCode.NONE
    row = produce(whole_broker, "sequences", gap)
    assert row.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (row.error_message, row.log_start_offset) == (None, 0)


def test_a_batch_of_an_ended_transaction_is_refused_with_where_the_log_starts(
    whole_broker: Broker,
) -> None:
    """Until UNKNOWN_PRODUCER_ID says where, Java's producers ask again (decision 0010)."""
    whole_broker.create_topic(topic := "ended")
    begun = _producer(whole_broker, "ends")
    who = {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
    topics = [{"name": topic, "partitions": [0]}]
    joining = {"transactional_id": "ends", **who, "topics": topics}

    def send(sequence: int) -> Any:
        request(
            whole_broker,
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            **{f"v3_and_below_{name}": value for name, value in joining.items()},
        )
        new = [NewRecord(b"k", b"v", STAMP)]
        batch = build_batch(new, **who, base_sequence=sequence, is_transactional=True)
        return produce(whole_broker, topic, batch, version=11, name="ends")

    assert send(0).error_code == ErrorCode.NONE
    ending = {"transactional_id": "ends", **who, "committed": True}
    assert request(whole_broker, ApiKey.END_TXN, 3, **ending).error_code == ErrorCode.NONE
    for _ in range(1000):  # the next one begins once the marker is written
        row = send(1)
        if row.error_code == ErrorCode.NONE:
            break
    row = send(0)
    assert row.error_code == ErrorCode.UNKNOWN_PRODUCER_ID
    assert (row.error_message, row.log_start_offset) == (None, 0)


def test_a_batch_over_the_limit_is_refused_without_a_sentence(whole_broker: Broker) -> None:
    whole_broker.create_topic("narrow", config={"max.message.bytes": "100"})
    row = produce(whole_broker, "narrow", build_batch([NewRecord(b"k", b"v" * 200, STAMP)]))
    assert row.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert (row.error_message, row.log_start_offset) == (None, -1)


def test_what_is_not_there_is_refused_without_a_sentence(whole_broker: Broker) -> None:
    for topic, partition in (("no-such-topic", 0), ("there", 9)):
        row = produce(whole_broker, topic, GOOD, partition=partition)
        assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (row.error_message, row.log_start_offset) == (None, -1)


def test_records_without_keys_on_a_compacted_topic_are_named_one_by_one(
    whole_broker: Broker,
) -> None:
    whole_broker.create_topic("compacted", config={"cleanup.policy": "compact"})
    row = produce(whole_broker, "compacted", build_batch([NewRecord(None, b"v", STAMP)]))
    assert row.error_code == ErrorCode.INVALID_RECORD
    assert row.log_start_offset == 0
    assert row.error_message
    assert [each.batch_index for each in row.record_errors] == [0]


@pytest.mark.parametrize(("version", "has_sentence"), [(10, True), (11, False)])
def test_a_partition_outside_the_transaction_is_refused_with_a_sentence_to_old_producers(
    whole_broker: Broker, version: int, has_sentence: bool
) -> None:
    name = f"txn-{version}"
    begun = _producer(whole_broker, name)
    batch = build_batch(
        [NewRecord(b"k", b"v", STAMP)],
        producer_id=begun.producer_id,
        producer_epoch=begun.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    row = produce(whole_broker, "in-no-transaction", batch, version=version, name=name)
    assert row.error_code in (ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTION_ABORTABLE)
    assert bool(row.error_message) is has_sentence


def test_zstandard_is_for_those_who_know_it(whole_broker: Broker) -> None:
    squeezed = build_batch([NewRecord(b"k", b"v" * 50, STAMP)], codec=Codec.ZSTD)
    refused = produce(whole_broker, "squeezed", squeezed, version=6)
    assert refused.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(whole_broker, "squeezed", squeezed, version=7).error_code == ErrorCode.NONE


def _producer(broker: Broker, name: str) -> Any:
    begin = {"transactional_id": name, "transaction_timeout": 5000}
    for _ in range(1000):  # the coordinator's topic is made when it is looked for
        request(broker, ApiKey.FIND_COORDINATOR, 3, key=name, key_type=1)
        begun = request(broker, ApiKey.INIT_PRODUCER_ID, 2, **begin)
        if not begun.error_code:
            break
    assert begun.error_code == ErrorCode.NONE
    return begun
