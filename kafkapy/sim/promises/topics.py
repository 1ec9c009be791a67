"""What clients know of one topic: its settings, and what these ever allowed.

Settings change while a run goes on, and a record may be judged by any that was in force
since it was sent. So the facts only grow: "was compacted once", "retention was once as
short as this".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kafkapy.core.time import Instant

_DEFAULT_RETENTION_MS: Final = 7 * 24 * 60 * 60 * 1000
_FOREVER_MS: Final = 2**62


@dataclass(slots=True, eq=False)
class TopicFacts:
    name: str
    topic_id: UUID
    partition_count: int
    settings: dict[str, str]
    # Counts every change of the settings, asked for or answered: an acknowledgement
    # means what the settings said only if they stood still meanwhile.
    era: int = 0
    is_settled: bool = True
    was_compacted: bool = False
    had_append_time: bool = False
    shortest_retention_ms: int = _FOREVER_MS
    had_retention_bytes: bool = False
    smallest_segment_bytes: int = field(default=2**31)

    def __post_init__(self) -> None:
        self._grow(self.settings)

    @property
    def flushes_each(self) -> bool:
        """Whether an acknowledgement now means that the disk has it."""
        return self.is_settled and self.settings.get("flush.messages") == "1"

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.settings.get("cleanup.policy", "delete")

    def altering(self, wanted: Mapping[str, str]) -> None:
        """A change was asked for; from now on it may be in force."""
        self.era += 1
        self.is_settled = False
        self._grow({**self.settings, **wanted})

    def altered(self, settings: Mapping[str, str]) -> None:
        """These are in force."""
        self.era += 1
        self.is_settled = True
        self.settings = dict(settings)
        self._grow(settings)

    def let_go(self, timestamp: int, sent_at: Instant, now: Instant) -> bool:
        """Whether retention may have deleted a record of that age."""
        if self.had_retention_bytes:
            return True
        oldest = sent_at if self.had_append_time else min(timestamp, sent_at)
        return now - oldest > self.shortest_retention_ms

    def describe(self) -> str:
        told = " ".join(f"{name}={value}" for name, value in sorted(self.settings.items()))
        return f"{self.topic_id} {told}"

    def _grow(self, settings: Mapping[str, str]) -> None:
        policy = settings.get("cleanup.policy", "delete")
        if "compact" in policy:
            self.was_compacted = True
        if "delete" in policy:
            retention_ms = int(settings.get("retention.ms", _DEFAULT_RETENTION_MS))
            if retention_ms >= 0:
                self.shortest_retention_ms = min(self.shortest_retention_ms, retention_ms)
            if int(settings.get("retention.bytes", -1)) >= 0:
                self.had_retention_bytes = True
        if settings.get("message.timestamp.type") == "LogAppendTime":
            self.had_append_time = True
