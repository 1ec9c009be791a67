"""What a step of the controller may say: records of the metadata log, and soft facts.

Soft facts (notes) are what this leader knows and a new one may forget: who was heard of.
"""

from collections.abc import Hashable
from typing import Any

from kafkapy.core.data import dataclass
from kafkapy.core.step import Step
from kafkapy.kraft.controller.partitions.places import Cursor
from kafkapy.kraft.controller.state import Contact, Sweep
from kafkapy.kraft.records.metadata import MetadataRecord


@dataclass(frozen=True, slots=True)
class BrokerHeard:
    broker_id: int
    contact: Contact


@dataclass(frozen=True, slots=True)
class BrokerSilent:
    """It is not expected to be heard of any more."""

    broker_id: int


@dataclass(frozen=True, slots=True)
class SweepBegun:
    sweep: Sweep


@dataclass(frozen=True, slots=True)
class SweptOn:
    about: Hashable
    next: Cursor


@dataclass(frozen=True, slots=True)
class SweepEnded:
    about: Hashable


@dataclass(frozen=True, slots=True)
class IndexRead:
    """The index of partitions has come further by that many."""

    count: int


@dataclass(frozen=True, slots=True)
class KRaftVersionRaised:
    """Durable, but the quorum's own: it writes the control records that say so (KIP-853)."""

    level: int


SweepFact = SweepBegun | SweptOn | SweepEnded
Fact = MetadataRecord | BrokerHeard | BrokerSilent | SweepFact | IndexRead | KRaftVersionRaised
ControllerStep = Step[Fact, Any]
