"""The consumer's own protocol inside JoinGroup and SyncGroup: subscription and assignment.

Each is `i16 version`, then the fields of that version; a later version begins with the
fields of the earlier ones. The bytes come from clients: what cannot be read is None.
"""

from struct import Struct
from typing import ClassVar, Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt
from kafkapy.protocol.schemas.codec import decoder, encoder
from kafkapy.protocol.schemas.schema import array, byte_string, int32, string

_INT16: Final = Struct(">h")
HIGHEST_VERSION: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPartitions:
    topic: str = string()
    partitions: tuple[int, ...] = array("int32")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """ConsumerProtocolSubscription 0-3."""

    __flexible_since__: ClassVar[int] = 4

    topics: tuple[str, ...] = array("string")
    user_data: bytes | None = byte_string(default=None)
    owned_partitions: tuple[EmbeddedPartitions, ...] = array(EmbeddedPartitions, since=1)
    generation_id: int = int32(since=2, default=-1)
    rack_id: str | None = string(since=3, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """ConsumerProtocolAssignment 0-3."""

    __flexible_since__: ClassVar[int] = 4

    assigned_partitions: tuple[EmbeddedPartitions, ...] = array(EmbeddedPartitions)
    user_data: bytes | None = byte_string(default=None)


def version_of(data: bytes) -> int | None:
    """As far as we know versions: one from the future is read as the newest of ours."""
    if len(data) < _INT16.size:
        return None
    version: int = _INT16.unpack_from(data)[0]
    return None if version < 0 else min(version, HIGHEST_VERSION)


def read_subscription(data: bytes) -> Subscription | None:
    version = version_of(data)
    if version is None:
        return None
    try:
        subscription: Subscription = decoder(Subscription, version)(data, _INT16.size)[0]
    except Corrupt:
        return None
    return subscription


def read_assignment(data: bytes) -> Assignment | None:
    version = version_of(data)
    if version is None:
        return None
    try:
        assignment: Assignment = decoder(Assignment, version)(data, _INT16.size)[0]
    except Corrupt:
        return None
    return assignment


def subscribed_topics(data: bytes) -> tuple[str, ...] | None:
    """Only the topics: every version begins with those of version 0."""
    if version_of(data) is None:
        return None
    try:
        subscription: Subscription = decoder(Subscription, 0)(data, _INT16.size)[0]
    except Corrupt:
        return None
    return subscription.topics


def write_subscription(subscription: Subscription, version: int) -> bytes:
    return _INT16.pack(version) + encoder(Subscription, version)(subscription)


def write_assignment(assignment: Assignment, version: int) -> bytes:
    return _INT16.pack(version) + encoder(Assignment, version)(assignment)
