"""Dead letters of share groups: records that were rejected or came too often (KIP-1191).

    ARCHIVING is written --> bury --> a record for each in the group's dead letter topic
                                        not now (no leader, too few replicas, no topic yet):
                                        again, with more and more time between
                                        never (no such topic, not for dead letters, refused):
                                        said in the journal
                         --> then: over, either way

The leader of the source's partition writes them, to the partition of the same number as far as
the topic has as many. Headers say where each was, in which group, how often it was delivered
and why it is here; key and value go along if the group asks for it. What was written and not
yet said to be over is written again by whoever leads next: at least once.

Apache Kafka tries five times and lets the record go. Here what may still become possible is
tried for as long as the partition is led, because a dead letter is the last trace of a record.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.topic_config import TopicConfigs
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.broker.share.settings import DeadLetterSettings, ShareSettings
from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import NO_NODE, TopicPartition
from kafkapy.core.seams import Callback, Clock, Journal, OtherNodes
from kafkapy.core.time import Instant, later
from kafkapy.kraft.image.image import TOPIC_RESOURCE, MetadataImage
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import HEADER_SIZE, batches, build_batch, records
from kafkapy.protocol.batches.records import NewRecord, Record, encode
from kafkapy.share.partition import DeadLetter

REJECTED: Final = "Offset rejected by client."
TOO_OFTEN: Final = "Offset delivery count exceeded the threshold."

FIRST_BACKOFF_MS: Final = 1_000
LONGEST_BACKOFF_MS: Final = 30_000
REQUEST_TIMEOUT_MS: Final = 30_000
# How much of the source is read at a time.
_READ_BYTES: Final = 1024 * 1024
# The last that names topics: what Apache Kafka 3.x and 4.x both take.
_PRODUCE_VERSION: Final = 12
_ALL: Final = -1

# What may be otherwise in a moment.
_NOT_NOW: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
    }
)


@dataclass(slots=True, eq=False)
class _Burial:
    """`at`: what is before it is in the topic already."""

    group_id: str
    source: Partition
    letter: DeadLetter
    is_wanted: Callable[[], bool]
    then: Callback
    at: int
    backoff_ms: int = FIRST_BACKOFF_MS
    # It is too large with its key and value, or they cannot be had.
    is_bare: bool = False


class DeadLetters:
    def __init__(
        self,
        *,
        node_id: int,
        config: BrokerConfig,
        clock: Clock,
        journal: Journal,
        other_nodes: OtherNodes,
        image: Callable[[], MetadataImage],
        partitions: Partitions,
        topic_configs: TopicConfigs,
        settings: Callable[[], ShareSettings],
        create_topic: Callable[[str], None],
    ) -> None:
        self._node_id = node_id
        self._config = config
        self._clock = clock
        self._journal = journal
        self._other_nodes = other_nodes
        self._image = image
        self._partitions = partitions
        self._topic_configs = topic_configs
        self._settings = settings
        self._create_topic = create_topic

    def bury(
        self,
        group_id: str,
        source: Partition,
        letter: DeadLetter,
        is_wanted: Callable[[], bool],
        then: Callback,
    ) -> None:
        """`then` once they are where they belong, or it is clear that they never will be; not
        at all once nobody wants it any more."""
        self._go_on(_Burial(group_id, source, letter, is_wanted, then, letter.first_offset))

    def _go_on(self, burial: _Burial) -> None:
        if not burial.is_wanted():
            return
        wanted = self._settings().dead_letters(burial.group_id)
        if wanted is None:
            self._give_up(burial, "the group has no dead letter topic any more")
            return
        why_not = self._why_not(wanted.topic)
        if why_not:
            self._give_up(burial, why_not)
            return
        topic = self._image().topics_by_name.get(wanted.topic)
        if topic is None:
            self._create_topic(wanted.topic)
            self._again(burial)
            return
        index = burial.source.topic_partition.partition % len(topic.partitions)
        to = TopicPartition(wanted.topic, index)
        batch, until = self._batch(burial, wanted)

        def answered(error: ErrorCode) -> None:
            self._answered(burial, error, until)

        leader = topic.partitions[index].leader
        if leader == self._node_id:
            self._write_here(to, batch, answered)
        elif leader == NO_NODE:
            self._again(burial)
        else:
            self._write_there(leader, to, batch, answered)

    def _why_not(self, name: str) -> str:
        """Settings may have changed since the last attempt."""
        prefix = self._config.errors_deadletterqueue_topic_name_prefix
        if name.startswith("__") or not name.startswith(prefix):
            return f"{name} is no name for dead letters: they begin with {prefix!r}"
        if name not in self._image().topics_by_name:
            if self._config.errors_deadletterqueue_auto_create_topics_enable:
                return ""
            return f"there is no topic {name}, and it is not made by itself"
        overrides = self._image().configs(TOPIC_RESOURCE, name)
        if not self._topic_configs.value("errors.deadletterqueue.group.enable", overrides):
            return f"{name} is not for dead letters: set errors.deadletterqueue.group.enable"
        return ""

    def _answered(self, burial: _Burial, error: ErrorCode, until: int) -> None:
        if error is ErrorCode.NONE:
            burial.backoff_ms = FIRST_BACKOFF_MS
            burial.at = until
            burial.is_bare = False
            if until > burial.letter.last_offset:
                burial.then()
            else:
                # Not at once: others are served in between, and no stack holds thousands.
                self._clock.call_soon(lambda: self._go_on(burial))
        elif error in _NOT_NOW:
            self._again(burial)
        elif error is ErrorCode.MESSAGE_TOO_LARGE and not burial.is_bare:
            burial.is_bare = True
            self._go_on(burial)
        else:
            self._give_up(burial, f"the topic refused it: {error.name}")

    def _again(self, burial: _Burial) -> None:
        when = later(self._clock.now(), burial.backoff_ms)
        burial.backoff_ms = min(2 * burial.backoff_ms, LONGEST_BACKOFF_MS)
        self._clock.call_at(when, lambda: self._go_on(burial))

    def _give_up(self, burial: _Burial, why: str) -> None:
        self._journal.warning(
            "dead letter not written",
            group=burial.group_id,
            partition=str(burial.source.topic_partition),
            first_offset=burial.at,
            last_offset=burial.letter.last_offset,
            reason=why,
        )
        burial.then()

    # Where it is written

    def _write_here(
        self, to: TopicPartition, batch: bytes, then: Callable[[ErrorCode], None]
    ) -> None:
        partition = self._partitions.get(*to)
        if partition is None:
            then(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        try:
            partition.check_leader()
            info = partition.append(memoryview(batch), needs_all=True)
        except Refused as refused:
            then(refused.code)
        except DiskFailed as failed:
            partition.disk_failed(failed)
            then(ErrorCode.KAFKA_STORAGE_ERROR)
        else:
            partition.when_committed(info.last_offset + 1, then)

    def _write_there(
        self, leader: int, to: TopicPartition, batch: bytes, then: Callable[[ErrorCode], None]
    ) -> None:
        body = {
            "transactional_id": None,
            "acks": _ALL,
            "timeout": REQUEST_TIMEOUT_MS,
            "topic_data": [
                {"name": to.topic, "partition_data": [{"index": to.partition, "records": batch}]}
            ],
        }

        def answered(response: Any) -> None:
            if isinstance(response, Exception):
                then(ErrorCode.NETWORK_EXCEPTION)
            else:
                then(ErrorCode(response.responses[0].partition_responses[0].error_code))

        self._other_nodes.call(
            leader, ApiKey.PRODUCE, _PRODUCE_VERSION, body, REQUEST_TIMEOUT_MS, answered
        )

    # What is written

    def _batch(self, burial: _Burial, wanted: DeadLetterSettings) -> tuple[bytes, int]:
        """As many as fit into one batch, one at least; and the first that is not among them."""
        overrides = self._image().configs(TOPIC_RESOURCE, wanted.topic)
        most = self._topic_configs.log_config(overrides).max_message_bytes
        copies: dict[int, Record] = {}
        last = burial.letter.last_offset
        if wanted.copies and not burial.is_bare:
            copies, last = _read(burial.source, burial.at, last)
        wall = self._clock.wall()
        found: list[NewRecord] = []
        size = HEADER_SIZE
        for offset in range(burial.at, last + 1):
            one = self._record(burial, offset, copies.get(offset), wall)
            size += len(encode([one], wall))
            if found and size > most:
                break
            if size > most:
                found.append(one._replace(key=None, value=None))
                break
            found.append(one)
        return build_batch(found), burial.at + len(found)

    def _record(
        self, burial: _Burial, offset: int, copied: Record | None, wall: Instant
    ) -> NewRecord:
        topic, partition = burial.source.topic_partition
        letter = burial.letter
        facts = {
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "group": burial.group_id,
            "delivery.count": letter.delivery_count,
            "message": REJECTED if letter.is_rejected else TOO_OFTEN,
        }
        return NewRecord(
            key=None if copied is None else copied.key,
            value=None if copied is None else copied.value,
            timestamp=wall,
            headers=tuple((f"__dlq.errors.{name}", str(it).encode()) for name, it in facts.items()),
        )


def _read(source: Partition, first: int, last: int) -> tuple[dict[int, Record], int]:
    """What the log still has of them, and up to where that was looked for."""
    log = source.log
    at = max(first, log.log_start_offset)
    if at > last:
        return {}, last
    try:
        _, slices, _ = log.read(at, _READ_BYTES, upper=last + 1, min_one_batch=True)
        data = b"".join(one.read() for one in slices)
        for one in slices:
            one.release()
    except (Refused, DiskFailed):
        return {}, last
    found: dict[int, Record] = {}
    looked = first - 1
    for position, header in batches(data):
        whole = memoryview(data)[position : position + header.size]
        with suppress(Corrupt):  # what a producer packed so that nobody can unpack it
            found.update((one.offset, one) for one in records(whole) if first <= one.offset <= last)
        looked = header.last_offset
    return (found, last) if looked < first else (found, min(looked, last))
