"""A group of a kind that this coordinator keeps but does not run: streams.

Its records are remembered by key, so that the group is listed, is not taken for something
else, and can be deleted whole.
"""

from dataclasses import field
from enum import Enum
from typing import Any

from kafkapy.core.data import dataclass
from kafkapy.group.records import Pair


class ForeignKind(Enum):
    STREAMS = "streams"


@dataclass(slots=True)
class ForeignGroup:
    group_id: str
    kind: ForeignKind
    records: dict[Any, Any] = field(default_factory=dict)

    def apply(self, record: Pair) -> None:
        key, value = record
        if value is None:
            self.records.pop(key, None)
        else:
            self.records[key] = value

    @property
    def has_members(self) -> bool:
        return any(hasattr(key, "member_id") for key in self.records)

    def tombstones(self) -> list[Pair]:
        """Members before the group, each in the order opposite to how it was written."""
        keys = sorted(self.records, key=lambda key: not hasattr(key, "member_id"))
        return [(key, None) for key in keys]
