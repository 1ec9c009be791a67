"""A group as it is becoming while a step is decided.

What is written is planned as a record and applied to a copy at once, so that each part of
a decision sees what the parts before it decided. The group itself stays as it is.
"""

from collections.abc import Iterable
from typing import Any, Generic, Protocol, Self, TypeVar

from kafkapy.group.plan import Plan
from kafkapy.group.records import Pair


class Drafted(Protocol):
    """What a fold of records can be drafted by."""

    group_id: str

    def copy(self) -> Self: ...

    def apply(self, record: Pair) -> None: ...

    def note(self, note: Any) -> None: ...


GroupT = TypeVar("GroupT", bound=Drafted)
NoteT = TypeVar("NoteT")


class Draft(Generic[GroupT, NoteT]):
    def __init__(self, group: GroupT, plan: Plan, *, is_new: bool = False) -> None:
        """`is_new`: the group exists in this draft only and may be written to."""
        self.group = group
        self.plan = plan
        self._is_copy = is_new

    @property
    def group_id(self) -> str:
        return self.group.group_id

    def write(self, record: Pair) -> None:
        self._copy()
        self.plan.records.append(record)
        self.group.apply(record)

    def write_all(self, records: Iterable[Pair]) -> None:
        for record in records:
            self.write(record)

    def note(self, note: NoteT) -> None:
        self._copy()
        self.plan.notes.append(note)
        self.group.note(note)

    def _copy(self) -> None:
        if not self._is_copy:
            self.group = self.group.copy()
            self._is_copy = True
