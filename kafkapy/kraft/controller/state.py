"""What the controller's machines read: the image, the rules, and what brokers last said.

The image here runs ahead of the brokers' images: a record is applied as soon as it is
appended, committed or not, so that each decision builds on the one before. If this node
stops being the leader the whole state is dropped.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import NO_NODE
from kafkapy.core.seams import Rng
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.partitions.index import PartitionIndex
from kafkapy.kraft.controller.partitions.places import START, Cursor, Place, Places
from kafkapy.kraft.controller.rules import ConfigRules, Values
from kafkapy.kraft.features import ELR_FIELDS, ELR_VERSION
from kafkapy.kraft.image.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from kafkapy.kraft.image.registrations import BrokerRegistration
from kafkapy.kraft.image.topics import PartitionState, TopicState
from kafkapy.kraft.uuids import LOST, MIGRATING, UNASSIGNED

if TYPE_CHECKING:
    from kafkapy.kraft.controller.partitions.partition_change import Election

# An operation on this many partitions or records is refused as a whole.
MAX_RECORDS_PER_OPERATION: Final = 10_000


# As numbers: this is asked for every replica when a broker goes.
_NOWHERE_YET: Final = (MIGRATING.int, UNASSIGNED.int)


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """Of delegation tokens; without a secret there are none."""

    secret: str | None = field(default=None, repr=False)
    max_lifetime_ms: int = 604_800_000
    expiry_ms: int = 86_400_000
    expiry_check_interval_ms: int = 3_600_000


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """What of the node's configuration the controller acts on; it does not change."""

    node_id: int
    cluster_id: str
    session_timeout_ms: int = 9000
    balances_leaders: bool = True
    balance_interval_ms: int = 300_000
    unclean_election_interval_ms: int = 300_000
    max_idle_interval_ms: int = 500
    # Every voter, so that a feature is not finalized that one of them does not know.
    quorum_ids: Callable[[], Sequence[int]] = tuple
    tokens: TokenSettings = TokenSettings()


class Contact(NamedTuple):
    """What a broker last said. It has a session until `last_heard` is too long ago."""

    epoch: int
    last_heard: Instant
    metadata_offset: int
    # Set while the broker shuts down: where the others must be before it may go.
    shutdown_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Located:
    """A partition and where it belongs."""

    topic: TopicState
    index: int
    state: PartitionState


@dataclass(frozen=True, slots=True)
class Sweep:
    """Partitions that are changed a slice at a time (sweeps.py): of a broker that is `removed`,
    `added` or comes back `unclean`, or for an `election`. `about`: that broker, or a name.
    `event` is decided on at the end; `is_awaited`: its asker waits. `gives_up`: nobody has heard
    of the broker, and it stays if somebody does. `loses_some`: it is removed from these only."""

    about: Hashable
    places: Places
    removed: int = NO_NODE
    added: int = NO_NODE
    unclean: int = NO_NODE
    election: "Election | None" = None
    event: Any = None
    is_awaited: bool = False
    gives_up: bool = False
    loses_some: bool = False
    since: Instant | None = None
    next: Cursor = START


@dataclass(slots=True)
class ControllerState:
    settings: ControllerSettings
    rules: ConfigRules
    rng: Rng
    image: MetadataImage
    # Of that image's partitions.
    index: PartitionIndex
    # The level that the quorum's control records say (1: voters can change, KIP-853).
    kraft_version: int = 1
    contacts: dict[int, Contact] = field(default_factory=dict)
    sweeps: dict[Hashable, Sweep] = field(default_factory=dict)
    # Offset of each broker's RegisterBrokerRecord: it serves once it has read that far.
    registered_at: dict[int, int] = field(default_factory=dict)
    # Where the next record will be appended.
    next_offset: int = 0
    # The time of day at which is being decided.
    wall: Instant = Instant(0)
    # Why the quorum cannot finalize the next level now; None if it can.
    cannot_raise_kraft_version: Callable[[], str | None] = lambda: None

    # -- brokers -----------------------------------------------------------------------

    def broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        """The registration that the sender claims to be."""
        broker = self.image.brokers.get(broker_id)
        if broker is None:
            raise Refused(
                ErrorCode.STALE_BROKER_EPOCH, f"No broker registration found for id {broker_id}."
            )
        if broker.epoch != epoch:
            raise Refused(
                ErrorCode.STALE_BROKER_EPOCH,
                f"Broker {broker_id} is registered with epoch {broker.epoch}, not {epoch}.",
            )
        return broker

    def is_active(self, broker_id: int) -> bool:
        """Nor on its way out, a slice at a time: of two that are, each would be given again what
        the other is taken out of, for ever."""
        broker = self.image.brokers.get(broker_id)
        return broker is not None and broker.is_active and not self._is_leaving(broker_id)

    def _is_leaving(self, broker_id: int) -> bool:
        return any(
            broker_id in (one.removed, one.unclean) and not one.loses_some
            for one in self.sweeps.values()
        )

    def has_session(self, broker_id: int, now: Instant) -> bool:
        """Whether the registered incarnation of the broker was heard of lately."""
        contact, broker = self.contacts.get(broker_id), self.image.brokers.get(broker_id)
        return (
            contact is not None
            and broker is not None
            and contact.epoch == broker.epoch
            and now - contact.last_heard < self.settings.session_timeout_ms
        )

    def is_awaited(self, broker_id: int, since: Instant) -> bool:
        """Whether the broker has a session (one that is not fenced always has), and was not
        heard of after `since`."""
        contact, broker = self.contacts.get(broker_id), self.image.brokers.get(broker_id)
        if broker is None:
            return False
        if contact is None or contact.epoch != broker.epoch:
            return not broker.fenced
        return contact.last_heard <= since

    def is_online(self, broker_id: int, directory: UUID | None) -> bool:
        """Whether that broker can serve from that directory, as far as anyone knows."""
        if directory is None or directory.int in _NOWHERE_YET:
            return True
        broker = self.image.brokers.get(broker_id)
        if broker is None or directory == LOST:
            return False
        return not broker.log_dirs or directory in broker.log_dirs

    def default_directory(self, broker_id: int) -> UUID:
        """A broker with a single directory has no choice; else it will tell."""
        broker = self.image.brokers.get(broker_id)
        if broker is None or not broker.log_dirs:
            return MIGRATING
        return broker.log_dirs[0] if len(broker.log_dirs) == 1 else UNASSIGNED

    # -- settings ----------------------------------------------------------------------

    @property
    def node_values(self) -> Values:
        return self.image.configs(BROKER_RESOURCE, str(self.settings.node_id))

    @property
    def cluster_values(self) -> Values:
        return self.image.configs(BROKER_RESOURCE, "")

    @property
    def elr_enabled(self) -> bool:
        return self.image.features.get(ELR_VERSION, 0) > 0 and (
            self.image.metadata_version >= ELR_FIELDS
        )

    def min_insync_replicas(self, topic: TopicState) -> int:
        """As far as its replication factor allows it to be met."""
        configured = self.rules.min_insync_replicas(
            self.image.configs(TOPIC_RESOURCE, topic.name), self.node_values, self.cluster_values
        )
        return min(configured, len(topic.partitions[0].replicas))

    def allows_unclean_election(self, topic: str) -> bool:
        return self.rules.allows_unclean_election(
            self.image.configs(TOPIC_RESOURCE, topic), self.node_values, self.cluster_values
        )

    # -- partitions --------------------------------------------------------------------

    def located(self, places: Iterable[Place]) -> list[Located]:
        """Those partitions as they are now, but for deleted ones."""
        found = []
        topics = self.image.topics_by_id
        for topic_id, index in places:
            topic = topics.get(topic_id)
            state = None if topic is None else topic.partitions.get(index)
            if topic is not None and state is not None:
                found.append(Located(topic, index, state))
        return found

    def topic(self, name: str) -> TopicState:
        topic = self.image.topics_by_name.get(name)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic
