"""Records in and out: produce, fetch, offsets of partitions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError, about, check
from kafkapy.http.kafka.unread import ANY, Unread
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches import batch
from kafkapy.protocol.batches.records import NewRecord, Record
from kafkapy.protocol.compression.codecs import Codec

END, START = -1, -2
_DEFAULT_BYTES: Final = 1024 * 1024


class Produced(NamedTuple):
    """Where the first of the records is; the others follow."""

    partition: int
    offset: int
    timestamp: int  # of the log, where that sets it; -1 if the records' own count


class Fetched(NamedTuple):
    """`records` from the offset that was asked for on, control records left out; `next_offset`
    is where to go on, also past what is left out."""

    records: list[Record]
    next_offset: int
    high_watermark: int
    log_start_offset: int


# What a view shows is found out while somebody waits for it (docs/VIEWS.md).
_VIEW_MS: Final = 250


async def produce(
    kafka: Kafka,
    topic: str,
    partition: int,
    records: Sequence[NewRecord],
    *,
    acks: int = -1,
    codec: Codec = Codec.NONE,
    producer: "tuple[int, int, int] | None" = None,
) -> Produced:
    """`producer` is (id, epoch, sequence of the first record), for who writes exactly once."""
    if not records:
        raise KafkaError(ErrorCode.INVALID_REQUEST, topic, "no records")
    producer_id, epoch, sequence = producer or (-1, -1, -1)
    packed = batch.build_batch(
        records, codec=codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )
    body = {
        "transactional_id": None,
        "acks": acks,
        "timeout": kafka.timeout_ms,
        "topic_data": [
            {"name": topic, "partition_data": [{"index": partition, "records": packed}]}
        ],
    }

    async def once() -> Produced:
        leader = await kafka.leader(topic, partition, ApiKey.PRODUCE, body)
        answer = await kafka.ask_broker(leader, ApiKey.PRODUCE, body)
        row = answer.responses[0].partition_responses[0]
        if row.error_code:
            told = [one.batch_index_error_message for one in row.record_errors]
            message = row.error_message or next((one for one in told if one), None)
            code = kafka.news(topic, partition, row.error_code)
            raise KafkaError(code, about(code, topic, partition), message)
        return Produced(partition, row.base_offset, milliseconds(row.log_append_time))

    return Produced(*await kafka.until_it_passes(once))


async def fetch(
    kafka: Kafka,
    topic: str,
    partition: int,
    offset: int,
    *,
    max_bytes: int = _DEFAULT_BYTES,
    max_wait_ms: int = 0,
    committed: bool = True,
    most: int = ANY,
) -> Fetched:
    """One answer's worth from `offset` on, `most` records of it. Who waits for more uses `async
    with Kafka(...)`."""
    if kafka.is_view(topic) and not max_wait_ms:
        if not kafka.is_apart:
            async with kafka.another() as apart:
                place = topic, partition, offset
                return await fetch(
                    apart, *place, max_bytes=max_bytes, committed=committed, most=most
                )
        max_wait_ms = _VIEW_MS
    asked = [{"topic": topic, "partitions": [_asked(partition, offset, max_bytes)]}]
    body = _fetch_body(asked, max_bytes, max_wait_ms, committed=committed)

    def code_of(answer: Any) -> int:
        return int(answer.error_code or _row(answer).error_code)

    row = _row(await kafka.ask_leader(topic, partition, ApiKey.FETCH, body, code_of))
    unread = _unread(row, offset, f"{topic}-{partition}", committed=committed)
    found = unread.take(most)
    return Fetched(found, unread.next_offset, row.high_watermark, row.log_start_offset)


async def fetch_from(
    kafka: Kafka,
    broker_id: int,
    offsets: Mapping[TopicPartition, int],
    *,
    max_bytes: int = _DEFAULT_BYTES,
    max_wait_ms: int = 0,
) -> dict[TopicPartition, "Unread | KafkaError"]:
    """Of several partitions that one broker leads: one answer's worth of them all."""
    topics: dict[str, list[dict[str, int]]] = {}
    for where, offset in offsets.items():
        topics.setdefault(where.topic, []).append(_asked(where.partition, offset, max_bytes))
    body = _fetch_body(
        [{"topic": name, "partitions": rows} for name, rows in topics.items()],
        max_bytes,
        max_wait_ms,
        committed=True,
    )
    answer = await kafka.ask_broker(broker_id, ApiKey.FETCH, body)
    check(answer.error_code)
    found: dict[TopicPartition, Unread | KafkaError] = {}
    for topic in answer.responses:
        for row in topic.partitions:
            where = TopicPartition(topic.topic, row.partition_index)
            try:
                check(kafka.news(*where, row.error_code), f"{where.topic}-{where.partition}")
                found[where] = _unread(row, offsets[where], f"{where.topic}-{where.partition}")
            except KafkaError as failed:
                found[where] = failed
    return found


async def list_offsets(
    kafka: Kafka, topic: str, timestamps: Mapping[int, int], *, committed: bool = False
) -> dict[int, int]:
    """Partition -> offset, for START, END or a time in ms of each; -1 where nothing is as new."""
    found: dict[int, int] = {}

    async def once() -> None:
        missing = {one: at for one, at in timestamps.items() if one not in found}
        whole = _list_offsets_body(kafka, topic, missing, committed)
        by_leader: dict[int, dict[int, int]] = {}
        for partition, timestamp in missing.items():
            leader = await kafka.leader(topic, partition, ApiKey.LIST_OFFSETS, whole)
            by_leader.setdefault(leader, {})[partition] = timestamp
        for leader, wanted in by_leader.items():
            body = _list_offsets_body(kafka, topic, wanted, committed)
            answer = await kafka.ask_broker(leader, ApiKey.LIST_OFFSETS, body)
            failed: KafkaError | None = None
            for row in answer.topics[0].partitions:
                if row.error_code:
                    code = kafka.news(topic, row.partition_index, row.error_code)
                    failed = KafkaError(code, about(code, topic, row.partition_index))
                else:
                    found[row.partition_index] = row.offset
            if failed is not None:
                raise failed

    await kafka.until_it_passes(once)
    return dict(sorted(found.items()))


def _asked(partition: int, offset: int, max_bytes: int) -> dict[str, int]:
    return {
        "partition": partition,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": max_bytes,
    }


def _fetch_body(
    topics: list[dict[str, Any]], max_bytes: int, max_wait_ms: int, *, committed: bool
) -> dict[str, Any]:
    return {
        "replica_id": -1,
        "max_wait": max_wait_ms,
        "min_bytes": 1,
        "max_bytes": max_bytes,
        "isolation_level": int(committed),
        "session_id": 0,
        "session_epoch": -1,
        "topics": topics,
        "forgotten_topics_data": [],
        "rack_id": "",
    }


def _unread(row: Any, offset: int, about: str, *, committed: bool = True) -> Unread:
    aborted = row.aborted_transactions if committed else None
    return Unread(bytes(row.records or b""), offset, aborted or (), about)


def _list_offsets_body(
    kafka: Kafka, topic: str, timestamps: Mapping[int, int], committed: bool
) -> dict[str, Any]:
    partitions = [
        {"partition_index": partition, "current_leader_epoch": -1, "timestamp": timestamp}
        for partition, timestamp in timestamps.items()
    ]
    return {
        "replica_id": -1,
        "isolation_level": int(committed),
        "topics": [{"name": topic, "partitions": partitions}],
        "timeout": kafka.timeout_ms,
    }


def _row(answer: Any) -> Any:
    return answer.responses[0].partitions[0]


def milliseconds(moment: Any) -> int:
    """kio gives moments as datetimes; -1 for none."""
    if moment is None:
        return -1
    if isinstance(moment, int):
        return moment
    return int(moment.timestamp() * 1000)
