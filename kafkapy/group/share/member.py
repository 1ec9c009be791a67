"""A member of a share group: who it is, and which partitions it reads.

    Profile   what it said of itself (record type 10)
    Holding   its epoch and partitions (record type 14)

A partition may be many members': nobody has to give one up before another gets it, so a member
is at its target as soon as it hears of it. Everything here is a value.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final
from uuid import UUID

from kafkapy.core.data import dataclass

Target = Mapping[UUID, frozenset[int]]
NOTHING: Final[Target] = {}


@dataclass(frozen=True, slots=True)
class Profile:
    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topics: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Holding:
    epoch: int = 0
    previous_epoch: int = 0
    assigned: Target = field(default_factory=dict)


NEW_HOLDING: Final = Holding()
