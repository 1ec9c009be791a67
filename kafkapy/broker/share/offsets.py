"""How far a share group is in partitions that it reads: what the share coordinator keeps, held
against where the partitions end.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from kafkapy.broker.share.states import REQUEST_TIMEOUT_MS
from kafkapy.core.errors import Refused
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.share.coordinator.events import NOTHING_READ, ReadSummary, SummaryRead
from kafkapy.share.coordinator.state import ShareKey

if TYPE_CHECKING:
    from typing import Protocol

    from kafkapy.broker.requests.needs import HasImage, HasPartitions, HasShares

    class Needs(HasImage, HasPartitions, HasShares, Protocol): ...


UNKNOWN_LAG: Final = -1
_LATEST: Final = -1
_LIST_OFFSETS_VERSION: Final = 10


class TopicAsked(NamedTuple):
    """`topic_id` None: there is no such topic."""

    topic_id: UUID | None
    name: str
    partitions: tuple[int, ...]


class Summary(NamedTuple):
    start_offset: int
    leader_epoch: int
    lag: int


def summaries(
    node: "Needs",
    group_id: str,
    topics: Sequence[TopicAsked],
    then: Callable[[list[list[Summary | Refused]]], None],
) -> None:
    """By topic and partition, in their order."""
    places = [(topic, partition) for topic in topics for partition in topic.partitions]
    found: list[Any] = [Summary(NOTHING_READ, 0, UNKNOWN_LAG)] * len(places)
    known = [at for at, (topic, _) in enumerate(places) if topic.topic_id is not None]
    left = len(known)

    def done() -> None:
        results = iter(found)
        then([[next(results) for _ in topic.partitions] for topic in topics])

    def settled(at: int, result: Summary | Refused) -> None:
        nonlocal left
        found[at] = result
        left -= 1
        if not left:
            done()

    def read(replies: list[Any]) -> None:
        for at, reply in zip(known, replies, strict=True):
            topic, partition = places[at]
            if isinstance(reply, Refused):
                settled(at, reply)
            else:
                _with_lag(node, topic, partition, reply, partial(settled, at))

    events = []
    for at in known:
        topic, index = places[at]
        assert topic.topic_id is not None, "those are left out"
        events.append(ReadSummary(ShareKey(group_id, topic.topic_id, index), 0))
    if events:
        node.shares.states.ask_all(events, read)
    else:
        done()


def _with_lag(
    node: "Needs",
    topic: TopicAsked,
    partition: int,
    read: SummaryRead,
    then: Callable[[Summary | Refused], None],
) -> None:
    start, epoch = read.start_offset, read.leader_epoch
    if start == NOTHING_READ:
        then(Summary(start, epoch, UNKNOWN_LAG))
        return

    def ended(end_offset: int | None) -> None:
        lag = UNKNOWN_LAG
        if end_offset is not None:
            lag = max(0, end_offset - start - max(0, read.delivery_complete_count))
        then(Summary(start, epoch, lag))

    end_of(node, topic.name, partition, ended)


def end_of(node: "Needs", topic: str, index: int, then: Callable[[int | None], None]) -> None:
    """Where the partition ends for consumers; None if nobody says."""
    here = node.partitions.get(topic, index)
    if here is not None and here.is_leader:  # a follower hears of the end a moment later
        then(here.log.high_watermark)
        return
    state = node.image.partition_by_name(topic, index)
    if state is None:
        then(None)
        return
    body = {
        "replica_id": -1,
        "isolation_level": 0,
        "topics": [
            {
                "name": topic,
                "partitions": [
                    {
                        "partition_index": index,
                        "current_leader_epoch": -1,
                        "timestamp": _LATEST,
                    }
                ],
            }
        ],
        "timeout": REQUEST_TIMEOUT_MS,
    }

    def answered(response: Any) -> None:
        then(None if isinstance(response, Exception) else _offset_in(response.topics))

    node.shares.call_node(state.leader, ApiKey.LIST_OFFSETS, _LIST_OFFSETS_VERSION, body, answered)


def _offset_in(topics: Iterable[Any]) -> int | None:
    for topic in topics:
        for row in topic.partitions:
            if not int(row.error_code):
                return int(row.offset)
    return None
