"""Fetch of one partition: how much of it, and what Apache Kafka 4.3.1 tells when it refuses."""

from typing import Any

from kafkapy.core.errors import ErrorCode
from kafkapy.core.limits import FETCH_ANSWER_BYTES
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.broker.handlers.whole_node import request

TELLS_NOTHING = (-1, -1, -1)


def fetch(
    broker: Broker,
    topic: str,
    *,
    partition: int = 0,
    offset: int = 0,
    max_bytes: int = 1_000_000,
    min_bytes: int = 1,
    **more: Any,
) -> Any:
    row = {
        "partition": partition,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "partition_max_bytes": 1_000_000,
        **more,
    }
    answer = request(
        broker,
        ApiKey.FETCH,
        12,
        replica_id=-1,
        max_wait=0,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[{"topic": topic, "partitions": [row]}],
        forgotten_topics_data=[],
        rack_id="",
    )
    return answer.responses[0].partitions[0]


def told(row: Any) -> tuple[int, int, int]:
    return (row.high_watermark, row.last_stable_offset, row.log_start_offset)


def test_an_offset_out_of_range_is_refused_without_a_word_on_the_log(whole_broker: Broker) -> None:
    whole_broker.produce("read", b"1")
    for offset in (-1, 99):
        row = fetch(whole_broker, "read", offset=offset)
        assert row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert told(row) == TELLS_NOTHING
        assert row.aborted_transactions is None
    assert told(fetch(whole_broker, "read", offset=1)) == (1, 1, 0)


def test_what_is_not_there_has_no_aborted_transactions_either(whole_broker: Broker) -> None:
    whole_broker.produce("read", b"1")
    for topic, partition in (("no-such-topic", 0), ("read", 9)):
        row = fetch(whole_broker, topic, partition=partition)
        assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert told(row) == TELLS_NOTHING
        assert row.aborted_transactions == ()


def test_a_leader_epoch_of_the_future_is_refused_without_a_word_on_the_log(
    whole_broker: Broker,
) -> None:
    whole_broker.produce("read", b"1")
    row = fetch(whole_broker, "read", current_leader_epoch=99)
    assert row.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert told(row) == TELLS_NOTHING
    assert row.aborted_transactions is None


def test_a_partition_gives_no_more_than_was_asked_of_it_but_one_batch(
    whole_broker: Broker,
) -> None:
    for _ in range(3):
        whole_broker.produce("bounded", b"x" * 100)
    everything = bytes(fetch(whole_broker, "bounded").records)
    one_batch = len(everything) // 3
    for limit, given in ((1, one_batch), (one_batch, one_batch), (one_batch + 9, one_batch + 9)):
        row = fetch(whole_broker, "bounded", partition_max_bytes=limit)
        assert bytes(row.records) == everything[:given]


def test_an_answer_is_no_larger_than_is_good_unless_more_is_asked_for(
    whole_broker: Broker,
) -> None:
    for _ in range(10):
        whole_broker.produce("large", b"x" * 1_000_000)
    limits = {"max_bytes": 50 << 20, "partition_max_bytes": 50 << 20}
    assert len(fetch(whole_broker, "large", **limits).records) == FETCH_ANSWER_BYTES
    wanted = FETCH_ANSWER_BYTES + 1_000_000
    assert len(fetch(whole_broker, "large", min_bytes=wanted, **limits).records) == wanted
