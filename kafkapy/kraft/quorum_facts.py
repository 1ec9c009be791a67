"""What a replica of the metadata log is told to be, and what it knows: of the cluster, and of
the quorum it belongs to. metadata_quorum.py makes it come true.
"""

from collections.abc import Callable
from dataclasses import field

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Clock
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.log.metadata_log import DEFAULT_SEGMENT_BYTES, MetadataLog
from kafkapy.kraft.log.replay import OnDelta, Replay
from kafkapy.kraft.log.snapshotting import SnapshotSettings
from kafkapy.kraft.quorum.description import QuorumDescription, describe
from kafkapy.kraft.quorum.leader import Leader
from kafkapy.kraft.quorum.quorum import Quorum
from kafkapy.kraft.quorum.state import QuorumSettings
from kafkapy.kraft.quorum.voter_history import VoterHistory
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterAddress, VoterSet


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataQuorumSettings:
    """`configured_voters`: controller.quorum.voters, for a static quorum. `endpoints`: this
    controller's listeners, as others reach them."""

    cluster_id: str
    local: ReplicaKey
    endpoints: tuple[VoterAddress, ...] = ()
    configured_voters: VoterSet = field(default_factory=VoterSet)
    quorum: QuorumSettings = field(default_factory=QuorumSettings)
    snapshots: SnapshotSettings = field(default_factory=SnapshotSettings)
    segment_bytes: int = DEFAULT_SEGMENT_BYTES


class QuorumFacts:
    """The parts of MetadataQuorum that are read, and the readings."""

    log: MetadataLog
    _clock: Clock
    _quorum: Quorum
    _history: VoterHistory
    _replay: Replay
    _is_active: bool
    _when_led: list[Callable[[], None]]

    @property
    def image(self) -> MetadataImage:
        """What is committed, as far as it is applied."""
        return self._replay.image

    @property
    def is_loaded(self) -> bool:
        """The image has all that was committed when this node learned of it first."""
        return self._replay.is_loaded

    @property
    def is_active(self) -> bool:
        """This node leads and may append."""
        return self._is_active

    @property
    def next_offset(self) -> int:
        """The offset that the next appended record gets."""
        return self.log.end_offset

    @property
    def high_watermark(self) -> int | None:
        return self._quorum.high_watermark

    @property
    def leader_id(self) -> int | None:
        return self._quorum.leader_id

    @property
    def leader_epoch(self) -> int:
        return self._quorum.epoch

    @property
    def role_name(self) -> str:
        """What this node is in the quorum: leader, follower, candidate and so on."""
        return type(self._quorum.role).__name__.lower()

    @property
    def voters(self) -> VoterSet:
        return self._quorum.voters

    @property
    def kraft_version(self) -> int:
        return self._history.kraft_version

    def address_of(self, node_id: int, listener: str) -> VoterAddress | None:
        """Where a voter or the leader is reached, as far as this replica knows."""
        if node_id == self._quorum.leader_id:
            for one in self._quorum.leader_endpoints:
                if one.listener == listener:
                    return one
        voter = self._quorum.voters.get(node_id)
        return None if voter is None else voter.address(listener)

    def last_fetch_by(self, node_id: int) -> int:
        """When a voter fetched from this leader last; -1: not known, or another node leads."""
        role = self._quorum.role
        voter = role.voters.get(node_id) if isinstance(role, Leader) else None
        return -1 if voter is None else voter.last_fetch

    def when_led(self, then: Callable[[], None]) -> None:
        """`then` whenever another leader is known, for ever."""
        self._when_led.append(then)

    def describe(self) -> QuorumDescription:
        """Refused(NOT_LEADER_OR_FOLLOWER) if another node leads."""
        role = self._quorum.role
        if not isinstance(role, Leader):
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return describe(role, self._quorum.voters, self._clock.now(), self._clock.wall())

    def subscribe(self, on_delta: OnDelta) -> None:
        """`on_delta(image, delta)` after every committed batch that changed something; the
        first one is all that was there at the start."""
        self._replay.subscribe(on_delta)
