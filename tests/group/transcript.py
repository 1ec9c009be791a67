"""Rebalances as prose: who said what, what was answered, what was written.

A transcript is compared with its file under golden/; UPDATE_GOLDEN=1 writes the files
instead, and the difference is then read in review like any other change of behaviour.

    0.0s  first > join
                 WRITES group generation 0
                 < MEMBER_ID_REQUIRED client-1
"""

import os
from pathlib import Path
from typing import Any

from kafkapy.coordinator import batches
from kafkapy.coordinator.shard import Shard
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group import records as r
from kafkapy.group.classic.events import HeartbeatHeard, Joined, Left, Synced
from kafkapy.group.consumer.events import ConsumerHeartbeatHeard
from kafkapy.group.consumer.member import MemberState
from kafkapy.group.embedded import read_assignment
from tests.group.world import Asked, World

GOLDEN = Path(__file__).parent / "golden"


class Transcript:
    def __init__(self, title: str, world: World) -> None:
        self.world = world
        self.lines = [title, "=" * len(title)]
        self.began = world.clock.now()
        self.written = len(world.log.batches)
        world.ask = self._ask  # type: ignore[method-assign]  # what is said is overheard
        self._speaker = ""
        self._said = ""

    def says(self, speaker: str, what: str) -> None:
        """The next question is this speaker's."""
        self._speaker, self._said = speaker, what

    def note(self, text: str) -> None:
        self.lines += ["", f"-- {text}"]

    def wait(self, ms: int) -> None:
        self.world.clock.advance(ms)
        self._written()

    def check(self, name: str) -> None:
        text = "\n".join(self.lines) + "\n"
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text)
        assert text == path.read_text(), "UPDATE_GOLDEN=1 writes the new transcript"

    def _ask(self, event: Any) -> Asked:
        speaker = self._speaker
        seconds = (self.world.clock.now() - self.began) / 1000
        self.lines.append(f"{seconds:6.1f}s  {speaker} > {self._said or type(event).__name__}")
        self._said = ""
        asked = _Overheard(self, speaker)
        shard: Shard[Any, Any] = self.world.shard
        shard.submit(event, asked)
        self._written()
        asked.release()
        return asked

    def _written(self) -> None:
        for batch in self.world.log.batches[self.written :]:
            for record in _records(self.world, batch):
                self.lines.append(f"             WRITES {_record(record)}")
        self.written = len(self.world.log.batches)

    def hears(self, speaker: str, reply: Any) -> None:
        seconds = (self.world.clock.now() - self.began) / 1000
        self.lines.append(f"{seconds:6.1f}s  {speaker} < {_reply(reply)}")


class _Overheard(Asked):
    """Answers are noted after what the step wrote, as they leave."""

    def __init__(self, transcript: Transcript, speaker: str) -> None:
        super().__init__()
        self._transcript = transcript
        self._speaker = speaker
        self._is_held = True

    def __call__(self, reply: Any) -> None:
        super().__call__(reply)
        if not self._is_held:
            self._transcript._written()
            self._transcript.hears(self._speaker, reply)

    def release(self) -> None:
        self._is_held = False
        if self.replies:
            self._transcript.hears(self._speaker, self.replies[0])


def _records(world: World, batch: bytes) -> list[Any]:
    return [one.record for one in batches.read(batch, world.codec, 0) if one.record is not None]


def _record(record: Any) -> str:
    key, value = record
    gone = value is None
    match key:
        case r.GroupMetadataKey():
            if gone:
                return "no classic group"
            members = ", ".join(member.member_id for member in value.members) or "nobody"
            return f"group generation {value.generation} ({value.protocol}): {members}"
        case r.OffsetCommitKey():
            return f"offset {key.topic}-{key.partition} {'gone' if gone else value.offset}"
        case r.ConsumerGroupMetadataKey():
            return "no consumer group" if gone else f"epoch {value.epoch}"
        case r.ConsumerGroupMemberMetadataKey():
            return f"member {key.member_id} {'gone' if gone else _subscription(value)}"
        case r.ConsumerGroupTargetAssignmentMetadataKey():
            return "no targets" if gone else f"targets of epoch {value.assignment_epoch}"
        case r.ConsumerGroupTargetAssignmentMemberKey():
            return f"target {key.member_id} {'gone' if gone else _parts(value.topic_partitions)}"
        case r.ConsumerGroupCurrentMemberAssignmentKey():
            return f"holding {key.member_id} {'gone' if gone else _holding(value)}"
        case r.ConsumerGroupRegularExpressionKey():
            return f"regex {key.regular_expression} {'gone' if gone else value.topics}"
        case _:
            return f"{type(key).__name__} {'gone' if gone else value}"


def _assigned(data: bytes) -> str:
    found = read_assignment(data)
    if found is None:
        return f"yours: {data.decode()}"
    return "yours: " + " ".join(str(list(one.partitions)) for one in found.assigned_partitions)


def _subscription(value: Any) -> str:
    kind = " (classic)" if value.classic_member_metadata is not None else ""
    regex = f" or /{value.subscribed_topic_regex}/" if value.subscribed_topic_regex else ""
    return f"subscribes {', '.join(value.subscribed_topic_names)}{regex}{kind}"


def _parts(listed: Any) -> str:
    return " ".join(str(list(one.partitions)) for one in listed) or "[]"


def _holding(value: Any) -> str:
    text = f"epoch {value.member_epoch} {MemberState(value.state).name.lower()} "
    text += _parts(value.assigned_partitions)
    if value.partitions_pending_revocation:
        text += f" revoking {_parts(value.partitions_pending_revocation)}"
    return text


def _reply(reply: Any) -> str:
    if isinstance(reply, Refused):
        return reply.code.name
    error = getattr(reply, "error", ErrorCode.NONE)
    match reply:
        case Joined():
            if error is not ErrorCode.NONE:
                return f"{error.name} {reply.member_id}"
            text = f"joined as {reply.member_id}, generation {reply.generation}"
            text += f", leader {reply.leader or 'nobody'}"
            return text + (f", assign to {len(reply.members)}" if reply.members else "")
        case Synced():
            return error.name if error is not ErrorCode.NONE else _assigned(reply.assignment)
        case HeartbeatHeard():
            return "ok" if error is ErrorCode.NONE else error.name
        case Left():
            return ", ".join(f"{one.member_id} left: {one.error.name}" for one in reply.members)
        case ConsumerHeartbeatHeard():
            assigned = reply.assignment
            text = f"epoch {reply.member_epoch}"
            if assigned is None:
                return text
            mine = " ".join(str(sorted(numbers)) for numbers in assigned.values()) or "[]"
            return f"{text}, yours: {mine}"
        case _:
            return type(reply).__name__
