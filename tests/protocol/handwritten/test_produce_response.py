import io
import struct
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from kio.index import load_response_schema
from kio.serial import entity_writer

from kafkapy.protocol.handwritten.produce_response import ProducedPartition, pack_produce_response
from kafkapy.protocol.messages import decode_response

VERSIONS = range(3, 14)
TOPIC_ID = UUID("11223344-5566-7788-99aa-bbccddeeff00")
APPENDED = ProducedPartition(3, 0, 77, -1, 5)
STAMPED = ProducedPartition(0, 0, 2**40, 1_700_000_000_000, 0)
REFUSED = ProducedPartition(
    1, 87, -1, -1, -1, [(0, "no key"), (2, None)], "records refused", (4, 9)
)


def by_kio(version: int, topics: Any, throttle_time_ms: int = 0, endpoints: Any = ()) -> bytes:
    """The same frame by kio's writer, headed by hand."""
    import importlib

    module = importlib.import_module(f"kio.schema.produce.v{version}.response")

    def partition(one: ProducedPartition) -> Any:
        appended_ms = one.log_append_time_ms
        given: dict[str, Any] = {
            "index": one.index,
            "error_code": next(code for code in module.ErrorCode if int(code) == one.error_code),
            "base_offset": one.base_offset,
            "log_append_time": None
            if appended_ms < 0
            else datetime.fromtimestamp(appended_ms / 1000, UTC),
        }
        if version >= 5:
            given["log_start_offset"] = one.log_start_offset
        if version >= 8:
            given["record_errors"] = tuple(
                module.BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=why)
                for at, why in one.record_errors
            )
            given["error_message"] = one.error_message
        if version >= 10 and one.current_leader is not None:
            leader_id, epoch = one.current_leader
            given["current_leader"] = module.LeaderIdAndEpoch(
                leader_id=leader_id, leader_epoch=epoch
            )
        return module.PartitionProduceResponse(**given)

    def topic(name: str, topic_id: UUID, partitions: Any) -> Any:
        identity = {"topic_id": topic_id} if version >= 13 else {"name": name}
        return module.TopicProduceResponse(
            **identity, partition_responses=tuple(map(partition, partitions))
        )

    given = {
        "responses": tuple(topic(*one) for one in topics),
        "throttle_time": timedelta(milliseconds=throttle_time_ms),
    }
    if version >= 10:
        given["node_endpoints"] = tuple(
            module.NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in endpoints
        )
    out = io.BytesIO()
    entity_writer(load_response_schema(0, version))(out, module.ProduceResponse(**given))
    head = struct.pack(">i", 99) + (b"\0" if version >= 9 else b"")
    return struct.pack(">i", len(head) + len(out.getvalue())) + head + out.getvalue()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("partition", [APPENDED, STAMPED, REFUSED])
@pytest.mark.parametrize("name", ["topic", "t" * 126, "t" * 127, "näme"])
def test_one_partition_is_written_as_kio_writes_it(
    version: int, partition: ProducedPartition, name: str
) -> None:
    topics = [(name, TOPIC_ID, [partition])]
    packed = pack_produce_response(version, 99, topics, 7)
    assert packed == by_kio(version, topics, 7)


@pytest.mark.parametrize("version", VERSIONS)
def test_many_topics_and_partitions_are_written_as_kio_writes_them(version: int) -> None:
    topics = [("a", TOPIC_ID, [APPENDED, REFUSED]), ("b", UUID(int=5), [STAMPED]), ("c", None, [])]
    endpoints = [(4, "host-4", 9092, None), (5, "host-5", 19092, "rack-5")]
    packed = pack_produce_response(version, 99, topics, 0, endpoints)
    assert packed == by_kio(version, topics, 0, endpoints)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("last", [APPENDED, REFUSED])
def test_many_partitions_of_many_topics(version: int, last: ProducedPartition) -> None:
    many = [STAMPED._replace(index=index) for index in range(200)]
    topics = [
        ("t" * 128, TOPIC_ID, many),
        ("b", UUID(int=5), [APPENDED, last]),
        ("c", TOPIC_ID, []),
    ]
    assert pack_produce_response(version, 99, topics, 7) == by_kio(version, topics, 7)


def test_log_append_time_survives_to_the_millisecond() -> None:
    packed = pack_produce_response(12, 1, [("t", None, [APPENDED._replace(log_append_time_ms=1)])])
    (topic,) = decode_response(0, 12, packed[9:]).responses
    assert topic.partition_responses[0].log_append_time.timestamp() == 0.001
