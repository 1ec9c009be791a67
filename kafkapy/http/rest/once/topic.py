"""The topic in which idempotency keys are claimed: `__kafkapy_http_keys`.

Of claims of one key the first counts, in the order of the partition's log: whoever claims, writes,
then reads up to what it wrote. So no node needs to know what others do, and none needs to be alive.
A claim that is done takes the open one's place.

    index    slot -> offset of its newest record that counts; each node has one, of what it has read

It is read when a request with a key comes, not before, as far as it goes then: a node that is
never asked knows and costs nothing. A key is forgotten `http.idempotency.retention.ms` after it
was claimed, or when `http.idempotency.max.keys` newer ones have come; the topic's retention is that
time, and what an index has forgotten is not read again.
"""

from typing import Final, NamedTuple

import trio

from kafkapy.core.errors import ErrorCode
from kafkapy.http.kafka import own_topics, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.once.claims import Claim, decode, encode
from kafkapy.protocol.batches.records import NewRecord, Record

KEY_TOPIC: Final = "__kafkapy_http_keys"
PARTITIONS: Final = 8
_FETCH_BYTES: Final = 1 << 20
# Records that are read into an index before others of this thread get their turn.
_SLICE: Final = 100


class _Known(NamedTuple):
    offset: int
    timestamp: int
    is_done: bool


class _Index:
    """Of one partition."""

    def __init__(self) -> None:
        self.known: dict[bytes, _Known] = {}
        self.next_offset = 0
        self.reading = trio.Lock()

    def take(self, record: Record, retention_ms: int, most: int) -> None:
        claim = decode(record.value)
        if claim is None or record.key is None:
            return
        before = self.known.get(record.key)
        is_done = claim.written is not None
        if before is not None:
            is_over = record.timestamp - before.timestamp > retention_ms
            # The first counts, and the first to be done.
            if not is_over and (before.is_done or not is_done):
                return
            if is_over:
                del self.known[record.key]  # it is the newest again
        self.known[record.key] = _Known(record.offset, record.timestamp, is_done)
        while len(self.known) > most:
            del self.known[next(iter(self.known))]


class KeyTopic:
    """One per site."""

    def __init__(self, retention_ms: int, max_keys: int) -> None:
        self._retention_ms = retention_ms
        self._most = max(1, max_keys // PARTITIONS)
        self._indexes = [_Index() for _ in range(PARTITIONS)]
        self._topic_id: object = None

    async def find(self, kafka: Kafka, slot: bytes, now: int) -> Claim | None:
        """What is known of a key, of all that was written before this was asked."""
        if KEY_TOPIC not in kafka.image.topics_by_name:
            return None
        partition = slot[0] % PARTITIONS
        ends = await records.list_offsets(
            kafka, KEY_TOPIC, {partition: records.END}, committed=True
        )
        await self._read(kafka, partition, ends[partition])
        return await self._known(kafka, slot, now)

    async def claim(self, kafka: Kafka, slot: bytes, claim: Claim, now: int) -> Claim:
        """The claim that counts: this one, or one that came first."""
        if KEY_TOPIC not in kafka.image.topics_by_name:
            await self._make(kafka)
        written = await self.write(kafka, slot, claim, now)
        await self._read(kafka, slot[0] % PARTITIONS, written + 1)
        return await self._known(kafka, slot, now) or claim

    async def write(self, kafka: Kafka, slot: bytes, claim: Claim, now: int) -> int:
        partition = slot[0] % PARTITIONS
        record = NewRecord(slot, encode(claim), now)
        return (await records.produce(kafka, KEY_TOPIC, partition, [record])).offset

    async def _known(self, kafka: Kafka, slot: bytes, now: int) -> Claim | None:
        partition = slot[0] % PARTITIONS
        known = self._indexes[partition].known.get(slot)
        if known is None or now - known.timestamp > self._retention_ms:
            return None
        try:
            got = await records.fetch(
                kafka, KEY_TOPIC, partition, known.offset, max_bytes=1, most=1
            )
        except KafkaError as failed:
            if failed.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                return None  # over, and deleted
            raise
        found = next((one for one in got.records if one.offset == known.offset), None)
        return None if found is None else decode(found.value)

    async def _read(self, kafka: Kafka, partition: int, end: int) -> None:
        """Everything before `end`."""
        self._check_topic(kafka)
        index = self._indexes[partition]
        async with index.reading:
            while index.next_offset < end:
                try:
                    got = await records.fetch(
                        kafka, KEY_TOPIC, partition, index.next_offset, max_bytes=_FETCH_BYTES
                    )
                except KafkaError as failed:
                    if failed.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                        raise
                    starts = await records.list_offsets(
                        kafka, KEY_TOPIC, {partition: records.START}
                    )
                    index.next_offset = max(starts[partition], index.next_offset + 1)
                    continue
                for at, record in enumerate(got.records):
                    if at % _SLICE == 0:
                        await trio.lowlevel.checkpoint()
                    index.take(record, self._retention_ms, self._most)
                if got.next_offset == index.next_offset:
                    raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, KEY_TOPIC)
                index.next_offset = got.next_offset

    def _check_topic(self, kafka: Kafka) -> None:
        """One that was deleted and made again has another id, and nothing of what was known."""
        topic_id = kafka.topic(KEY_TOPIC).id
        if topic_id != self._topic_id:
            self._topic_id = topic_id
            self._indexes = [_Index() for _ in range(PARTITIONS)]

    async def _make(self, kafka: Kafka) -> None:
        configs = {
            "cleanup.policy": "delete",
            "retention.ms": self._retention_ms,
            "segment.ms": max(self._retention_ms // 24, 60_000),
            "min.insync.replicas": max(1, own_topics.replicas(kafka) - 1),
        }
        told = {name: str(value) for name, value in configs.items()}
        await own_topics.make(kafka, KEY_TOPIC, PARTITIONS, told)
