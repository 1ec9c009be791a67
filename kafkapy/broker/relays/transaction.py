"""One transaction of a relay: what it sends, and how far it then is, both or nothing.

    InitProducerId ---------------------------------> nobody else under this id any more
    OffsetFetch (stable) ---------------------------> how far it was
    Produce, to each leader ------+
    TxnOffsetCommit --------------+--> EndTxn ------> how far it is

The transactional id belongs to the source partition. Whoever leads that begins with
InitProducerId, so a former leader's transaction is aborted and its requests are refused from then
on; and only then is asked how far it was (KIP-98, KIP-447's order of things). Transactions are
those of KIP-890 (transaction.version 2): produced partitions join by themselves.

How far it is belongs to the source and the target, both by their ids. When another target is named,
how far the relay was with the one before is kept, in a group of its own, and found again when that
is named again:

    kafkapy-relay.<source>                    with the target of now, or of the last time
    kafkapy-relay.<source>:<target's id>      with that one, when it was left for another

Steps of a job (core/jobs.py): each waits for the answers it needs.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkapy.broker.metadata.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafkapy.broker.relays.calls import NodeCalls
from kafkapy.coordinator.partitioning import partition_for
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import NO_NODE, TopicPartition
from kafkapy.core.jobs import WAITING, Pause
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import Codec, build_batch
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.relays.placing import partition_of
from kafkapy.relays.rule import Sent

GROUP_PREFIX: Final = "kafkapy-relay."
TRANSACTION_TIMEOUT_MS: Final = 60_000
REQUEST_TIMEOUT_MS: Final = 30_000
# What is answered so is true in a moment, and nothing of it has happened.
_IN_A_MOMENT: Final = frozenset({ErrorCode.CONCURRENT_TRANSACTIONS})
_MOMENT: Final = Pause(20)
_MOST_MOMENTS: Final = 100
# Building and appending one record, roughly.
_SENT_COST_US: Final = 5
_CALL_COST_US: Final = 200

Steps = Generator[int | Pause | None, None, Any]


class NotNow(Exception):
    """The relay begins again, a little later. `code` as far as one was told."""

    def __init__(self, reason: str, code: ErrorCode = ErrorCode.NONE) -> None:
        super().__init__(f"{code.name}: {reason}" if code else reason)
        self.code = code


class Kept(NamedTuple):
    """`target`: its id, in hexadecimal digits."""

    target: str
    offset: int
    text: str


class Plan(NamedTuple):
    """`offset` and `after` are committed with what is sent, as long as the topic `target` is
    that one."""

    sends: tuple[Sent, ...]
    codec: Codec
    offset: int
    after: str
    target: tuple[str, UUID]
    # How far it was with another target until now.
    kept: "Kept | None" = None
    # Together they were too large for the target.
    is_one_by_one: bool = False


class Transactions:
    """Of one source partition. `resume` wakes the job whose steps these are."""

    def __init__(
        self,
        source: TopicPartition,
        topic_id: UUID,
        calls: NodeCalls,
        image: Callable[[], MetadataImage],
        create_topic: Callable[[str], object],
        resume: Callable[[], None],
    ) -> None:
        self._source = source
        self._calls = calls
        self._image = image
        self._create_topic = create_topic
        self._resume = resume
        self._transactional_id = f"{GROUP_PREFIX}{topic_id.hex}.{source.partition}"
        self._group = f"{GROUP_PREFIX}{source.topic}"
        self._mark = f"{topic_id.hex} "
        self._producer_id = -1
        self._epoch = -1

    def begin(self) -> Steps:
        """Returns what was committed last, "" if nothing was."""
        body = {
            "transactional_id": self._transactional_id,
            "transaction_timeout": TRANSACTION_TIMEOUT_MS,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        answer = yield from self._coordinator(
            TRANSACTION_STATE, self._transactional_id, ApiKey.INIT_PRODUCER_ID, 5, body, _whole
        )
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch
        return (yield from self._place(self._group))

    def kept(self, target: str) -> Steps:
        """Returns how far it was with that target when it was left for another; "" if never."""
        return (yield from self._place(self._group_of(target)))

    def _group_of(self, target: str) -> str:
        # A colon: no topic has one in its name.
        return f"{self._group}:{target}"

    def _place(self, group: str) -> Steps:
        topics = [{"name": self._source.topic, "partition_indexes": [self._source.partition]}]
        asked = {"group_id": group, "member_id": None, "member_epoch": -1, "topics": topics}
        answer = yield from self._coordinator(
            CONSUMER_OFFSETS,
            group,
            ApiKey.OFFSET_FETCH,
            9,
            {"groups": [asked], "require_stable": True},
            _of_fetch,
        )
        row = answer.groups[0].topics[0].partitions[0]
        text = row.metadata or ""
        # What a topic of the same name left behind says nothing of this one.
        return text.removeprefix(self._mark) if text.startswith(self._mark) else ""

    def commit(self, plan: Plan) -> Steps:
        name, topic_id = plan.target
        target = self._image().topics_by_name.get(name)
        if target is None or target.id != topic_id:
            raise NotNow(
                f"there is no topic {name}" if target is None else f"{name} is a new topic"
            )
        if plan.is_one_by_one:
            parcels = [[one] for one in plan.sends]
        else:
            parcels = [list(plan.sends)] if plan.sends else []
        sequences: dict[TopicPartition, int] = {}
        for parcel in parcels:
            yield from self._produce(self._by_partition(parcel), plan.codec, sequences)
        if plan.kept is not None:
            group = self._group_of(plan.kept.target)
            yield from self._commit_place(group, plan.kept.offset, plan.kept.text)
        yield from self._commit_place(self._group, plan.offset, plan.after)
        answer = yield from self._coordinator(
            TRANSACTION_STATE,
            self._transactional_id,
            ApiKey.END_TXN,
            5,
            {**self._producer(), "committed": True},
            _whole,
        )
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch

    def _commit_place(self, group: str, offset: int, text: str) -> Steps:
        partition = {
            "partition_index": self._source.partition,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": self._mark + text,
        }
        body = {
            **self._producer(),
            "group_id": group,
            "generation_id": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": self._source.topic, "partitions": [partition]}],
        }
        yield from self._coordinator(
            CONSUMER_OFFSETS, group, ApiKey.TXN_OFFSET_COMMIT, 5, body, _of_commit
        )

    def _producer(self) -> dict[str, Any]:
        return {
            "transactional_id": self._transactional_id,
            "producer_id": self._producer_id,
            "producer_epoch": self._epoch,
        }

    # Producing

    def _by_partition(self, sends: Sequence[Sent]) -> dict[TopicPartition, list[NewRecord]]:
        image = self._image()
        source = image.topics_by_name.get(self._source.topic)
        source_count = 0 if source is None else len(source.partitions)
        found: dict[TopicPartition, list[NewRecord]] = {}
        for topic, record, said in sends:
            target = image.topics_by_name.get(topic)
            if target is None:
                raise NotNow(f"there is no topic {topic}")
            index = partition_of(
                record.key, self._source.partition, source_count, len(target.partitions), said
            )
            found.setdefault(TopicPartition(topic, index), []).append(record)
        return found

    def _produce(
        self,
        parcels: Mapping[TopicPartition, list[NewRecord]],
        codec: Codec,
        sequences: dict[TopicPartition, int],
    ) -> Steps:
        packed: dict[TopicPartition, bytes] = {}
        for partition, records in parcels.items():
            sequence = sequences.get(partition, 0)
            sequences[partition] = sequence + len(records)
            packed[partition] = build_batch(
                records,
                codec=codec,
                producer_id=self._producer_id,
                producer_epoch=self._epoch,
                base_sequence=sequence,
                is_transactional=True,
            )
            yield len(records) * _SENT_COST_US
        for _ in range(_MOST_MOMENTS):
            answers: dict[int, Any] = {}
            by_leader = self._by_leader(packed)
            for leader, theirs in by_leader.items():
                body = {
                    "transactional_id": self._transactional_id,
                    "acks": -1,
                    "timeout": REQUEST_TIMEOUT_MS,
                    "topic_data": [
                        {
                            "name": one.topic,
                            "partition_data": [{"index": one.partition, "records": packed[one]}],
                        }
                        for one in theirs
                    ],
                }
                self._ask(leader, ApiKey.PRODUCE, 12, body, answers)
                yield _CALL_COST_US
            while len(answers) < len(by_leader):
                yield WAITING
            left: dict[TopicPartition, bytes] = {}
            for leader, theirs in by_leader.items():
                codes = _produced(answers[leader])
                for partition in theirs:
                    code = codes.get(partition, ErrorCode.NETWORK_EXCEPTION)
                    if code in _IN_A_MOMENT:
                        left[partition] = packed[partition]
                    elif code:
                        raise NotNow(f"producing to {partition}", code)
            if not left:
                return
            packed = left
            yield _MOMENT
        raise NotNow("the transaction before does not end", ErrorCode.CONCURRENT_TRANSACTIONS)

    def _by_leader(self, packed: Mapping[TopicPartition, bytes]) -> dict[int, list[TopicPartition]]:
        found: dict[int, list[TopicPartition]] = {}
        for partition in packed:
            state = self._image().partition_by_name(*partition)
            if state is None or state.leader == NO_NODE:
                raise NotNow(f"nobody leads {partition}")
            found.setdefault(state.leader, []).append(partition)
        return found

    # Asking

    def _coordinator(
        self,
        topic: str,
        key: str,
        api: ApiKey,
        version: int,
        body: Mapping[str, Any],
        code_of: Callable[[Any], int],
    ) -> Steps:
        """Whoever coordinates `key` now; returns the answer if nothing in it is refused."""
        for _ in range(_MOST_MOMENTS):
            answers: dict[int, Any] = {}
            node = self._coordinator_of(topic, key)
            self._ask(node, api, version, body, answers)
            yield _CALL_COST_US
            while not answers:
                yield WAITING
            answer = answers[node]
            if isinstance(answer, Exception):
                code = answer.code if isinstance(answer, Refused) else ErrorCode.NETWORK_EXCEPTION
                raise NotNow(f"{api.name} of node {node}: {answer}", code)
            code = ErrorCode(code_of(answer))
            if not code:
                return answer
            if code not in _IN_A_MOMENT:
                raise NotNow(f"{api.name} of node {node}", code)
            yield _MOMENT
        raise NotNow("the transaction before does not end", ErrorCode.CONCURRENT_TRANSACTIONS)

    def _coordinator_of(self, topic: str, key: str) -> int:
        state = self._image().topics_by_name.get(topic)
        if state is None:
            self._create_topic(topic)
            raise NotNow(f"{topic} is being made")
        leader = state.partitions[partition_for(key, len(state.partitions))].leader
        if leader == NO_NODE:
            raise NotNow(f"nobody coordinates {key}")
        return leader

    def _ask(
        self,
        node: int,
        api: ApiKey,
        version: int,
        body: Mapping[str, Any],
        answers: dict[int, Any],
    ) -> None:
        def answered(answer: Any) -> None:
            answers[node] = answer
            self._resume()

        self._calls.call(node, api, version, body, REQUEST_TIMEOUT_MS, answered)


def _whole(answer: Any) -> int:
    return int(answer.error_code)


def _of_fetch(answer: Any) -> int:
    group = answer.groups[0]
    return int(group.error_code or group.topics[0].partitions[0].error_code)


def _of_commit(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].error_code)


def _produced(answer: Any) -> dict[TopicPartition, ErrorCode]:
    if isinstance(answer, Exception):
        return {}
    return {
        TopicPartition(topic.name, row.index): ErrorCode(row.error_code)
        for topic in answer.responses
        for row in topic.partition_responses
    }
