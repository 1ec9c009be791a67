"""A step in the making.

Deciding reads the group's state and works on copies; a `Plan` collects what follows, and
becomes the `Step`. Nothing in it has happened until the runtime makes it happen.
"""

from collections.abc import Hashable
from dataclasses import field
from typing import Any

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.group.settings import GroupSettings
from kafkapy.group.topics import Topics


@dataclass(frozen=True, slots=True)
class Context:
    """What a decision may look at besides the shard's own state. Timers are armed by `now`;
    what is stored, and what is held against it, is `wall`."""

    now: Instant
    wall: Instant
    settings: GroupSettings
    topics: Topics


@dataclass(slots=True)
class Plan:
    records: list[Any] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    reply: Any = None
    park: Hashable | None = None
    answers: list[tuple[Hashable, Any]] = field(default_factory=list)
    timers: dict[Hashable, Instant | None] = field(default_factory=dict)

    def refuse(self, refused: Refused) -> None:
        """Answer so, and still do what else is planned (raising would drop it)."""
        self.reply = refused

    def answer(self, key: Hashable, reply: Any) -> None:
        """Answer whoever waits under `key`: perhaps the asker of this very step."""
        if key == self.park:
            self.park = None
            self.reply = reply
        else:
            self.answers.append((key, reply))

    def step(self) -> Step[Any, Any]:
        return Step(
            records=tuple(self.records),
            notes=tuple(self.notes),
            reply=self.reply,
            park=self.park,
            answers=tuple(self.answers),
            timers=self.timers,
        )
