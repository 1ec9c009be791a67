"""Asking the share coordinators: who of them, here or elsewhere, and again if it was not now.

    ask(event) --> the leader of its partition of __share_group_state
                     here       the shard
                     elsewhere  one request a node, API and group at a time; what comes
                                meanwhile goes with the next
                     nobody     made, if there is no such topic; asked again

An answer that says that it was the wrong one, or not now, is not the asker's: it is tried again,
with more and more time between, until `PATIENCE_MS` is over.

What begins a state and what ends it takes turns, and nobody goes on with an InitializeState for
which something else waits: behind the DeleteState of its group it would leave a state, and an epoch
that a later group of that name does not come up to (that group could not begin). That holds as long
as one node coordinates the group; what another one asked before is its own.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from kafkapy.broker.metadata.internal_topics import SHARE_GROUP_STATE
from kafkapy.broker.share.state_requests import STATE_APIS, body_of, replies_in
from kafkapy.coordinator.partitioning import partition_for
from kafkapy.coordinator.shards import Shards
from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import NO_NODE
from kafkapy.core.seams import Clock, OtherNodes
from kafkapy.core.time import Instant, later
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.share.coordinator.events import (
    DeleteState,
    InitializeState,
    KeyedEvent,
    ShareReply,
)
from kafkapy.share.coordinator.state import ShareKey

Then = Callable[[Any], None]

FIRST_BACKOFF_MS: Final = 50
LONGEST_BACKOFF_MS: Final = 1_000
PATIENCE_MS: Final = 30_000
REQUEST_TIMEOUT_MS: Final = 10_000

_NOT_NOW: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NETWORK_EXCEPTION,
    }
)


@dataclass(slots=True, eq=False)
class _Question:
    event: KeyedEvent
    then: Then
    until: Instant
    backoff_ms: int = FIRST_BACKOFF_MS


_Lane = tuple[int, type[Any], str]


class ShareStates:
    def __init__(
        self,
        *,
        node_id: int,
        clock: Clock,
        other_nodes: OtherNodes,
        image: Callable[[], MetadataImage],
        shards: Shards[Any, ShareReply],
        create_topic: Callable[[str], object],
    ) -> None:
        self._node_id = node_id
        self._clock = clock
        self._other_nodes = other_nodes
        self._image = image
        self._shards = shards
        self._create_topic = create_topic
        self._waiting: dict[_Lane, list[_Question]] = {}
        self._under_way: set[_Lane] = set()
        # Of each share partition: who is being asked, and who waits for that.
        self._turns: dict[ShareKey, deque[_Question]] = {}
        self._is_closed = False

    def ask(self, event: KeyedEvent, then: Then) -> None:
        """`then` gets what the share coordinator replied, or Refused."""
        until = later(self._clock.now(), PATIENCE_MS)
        if not isinstance(event, InitializeState | DeleteState):
            self._ask(_Question(event, then, until))
            return
        question = _Question(event, partial(self._turn_ended, event.key, then), until)
        turns = self._turns.setdefault(event.key, deque())
        turns.append(question)
        if len(turns) == 1:
            self._ask(question)

    def ask_all(self, events: Sequence[KeyedEvent], then: Callable[[list[Any]], None]) -> None:
        """`then` gets the replies in the order of the events."""
        replies: list[Any] = [None] * len(events)
        left = len(events)
        if not events:
            then(replies)

        def answered(at: int, reply: Any) -> None:
            nonlocal left
            replies[at] = reply
            left -= 1
            if not left:
                then(replies)

        for at, event in enumerate(events):
            self.ask(event, partial(answered, at))

    def close(self) -> None:
        """Nobody is asked again; who waits is told so."""
        self._is_closed = True
        waiting, self._waiting = self._waiting, {}
        for questions in waiting.values():
            for question in questions:
                question.then(Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def _turn_ended(self, key: ShareKey, then: Then, reply: Any) -> None:
        then(reply)
        turns = self._turns[key]
        turns.popleft()
        if not turns:
            del self._turns[key]
            return
        turns[0].until = later(self._clock.now(), PATIENCE_MS)
        self._ask(turns[0])

    def _ask(self, question: _Question) -> None:
        if self._is_closed:
            question.then(Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        key = question.event.key.coordinated_by
        node = self._coordinator_of(key)
        if node == self._node_id:
            self._shards.submit(key, question.event, partial(self._answered, question))
        elif node == NO_NODE:
            self._answered(question, Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            lane = (node, type(question.event), question.event.key.group_id)
            self._waiting.setdefault(lane, []).append(question)
            self._next(lane)

    def _coordinator_of(self, key: str) -> int:
        topic = self._image().topics_by_name.get(SHARE_GROUP_STATE)
        if topic is None:
            self._create_topic(SHARE_GROUP_STATE)
            return NO_NODE
        return topic.partitions[partition_for(key, len(topic.partitions))].leader

    def _answered(self, question: _Question, reply: Any) -> None:
        if not isinstance(reply, Refused) or reply.code not in _NOT_NOW:
            question.then(reply)
            return
        again_at = later(self._clock.now(), question.backoff_ms)
        if self._is_closed or again_at >= question.until or self._is_overtaken(question):
            question.then(reply)
            return
        question.backoff_ms = min(2 * question.backoff_ms, LONGEST_BACKOFF_MS)
        self._clock.call_at(again_at, lambda: self._again(question, reply))

    def _again(self, question: _Question, reply: Refused) -> None:
        if self._is_overtaken(question):
            question.then(reply)
        else:
            self._ask(question)

    def _is_overtaken(self, question: _Question) -> bool:
        if not isinstance(question.event, InitializeState):
            return False
        turns = self._turns[question.event.key]
        assert turns[0] is question, "asked out of turn"
        return len(turns) > 1

    # Elsewhere

    def _next(self, lane: _Lane) -> None:
        if lane in self._under_way or lane not in self._waiting:
            return
        node, kind, _ = lane
        questions = self._waiting.pop(lane)
        self._under_way.add(lane)
        events = [one.event for one in questions]
        api = STATE_APIS[kind]

        def answered(response: Any) -> None:
            self._under_way.discard(lane)
            replies = (
                [response] * len(questions)
                if isinstance(response, Exception)
                else replies_in(response, events)
            )
            for question, reply in zip(questions, replies, strict=True):
                self._answered(question, reply)
            self._next(lane)

        self._other_nodes.call(
            node, api.key, api.version, body_of(events), REQUEST_TIMEOUT_MS, answered
        )
