"""What replicas of the metadata log say to one another, free of wire versions.

Requests name one partition, `__cluster_metadata-0`; what stands around it on the wire
(topic names, arrays of one) is the handlers' business. A replica's directory is None
where an old version of a request has no field for it. formats/quorum 3 to 6.
"""

from typing import Final, NamedTuple

from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterAddress

# FetchRequest.high_watermark of replicas that do not say theirs (Fetch below 18).
NOT_SAID: Final = 2**63 - 1


class QuorumStopped(Exception):
    """This replica has nothing to say: it has not begun, has ended, or its disk failed."""


class VoteRequest(NamedTuple):
    """`voter` is whom the sender takes the receiver to be; None before version 1."""

    cluster_id: str | None
    voter: ReplicaKey | None
    candidate: ReplicaKey
    epoch: int
    last_epoch: int
    last_offset: int
    is_pre_vote: bool


class BeginQuorumEpochRequest(NamedTuple):
    cluster_id: str | None
    voter: ReplicaKey | None
    leader_id: int
    epoch: int
    endpoints: tuple[VoterAddress, ...]


class EndQuorumEpochRequest(NamedTuple):
    """`successors`: voters by how much of the log they have, most first."""

    cluster_id: str | None
    leader_id: int
    epoch: int
    successors: tuple[ReplicaKey, ...]
    endpoints: tuple[VoterAddress, ...]


class FetchRequest(NamedTuple):
    """`replica.id` is -1 for somebody who only reads."""

    cluster_id: str | None
    replica: ReplicaKey
    epoch: int
    offset: int
    last_fetched_epoch: int
    high_watermark: int = NOT_SAID
    max_wait_ms: int = 0
    max_bytes: int = 0


class FetchSnapshotRequest(NamedTuple):
    cluster_id: str | None
    replica: ReplicaKey
    epoch: int
    snapshot: SnapshotId
    position: int
    max_bytes: int


class AddVoterRequest(NamedTuple):
    """`waits_for_commit`: else the answer comes once the leader has appended the new set."""

    cluster_id: str | None
    voter: ReplicaKey
    endpoints: tuple[VoterAddress, ...]
    timeout_ms: int
    waits_for_commit: bool = True


class RemoveVoterRequest(NamedTuple):
    cluster_id: str | None
    voter: ReplicaKey


class UpdateVoterRequest(NamedTuple):
    """A voter's word about itself."""

    cluster_id: str | None
    epoch: int
    voter: ReplicaKey
    endpoints: tuple[VoterAddress, ...]
    kraft_versions: tuple[int, int]


class VoteResponse(NamedTuple):
    error: ErrorCode
    epoch: int
    leader_id: int | None
    is_granted: bool
    leader_endpoints: tuple[VoterAddress, ...] = ()


class EpochResponse(NamedTuple):
    """The answer to BeginQuorumEpoch, EndQuorumEpoch and UpdateRaftVoter."""

    error: ErrorCode
    epoch: int
    leader_id: int | None
    leader_endpoints: tuple[VoterAddress, ...] = ()


class FetchResponse(NamedTuple):
    """`records` follow only if there is neither error, divergence nor snapshot."""

    error: ErrorCode
    epoch: int
    leader_id: int | None
    high_watermark: int | None = None
    log_start_offset: int = -1
    diverging: tuple[int, int] | None = None  # (epoch, end offset)
    snapshot: SnapshotId | None = None
    records: bytes = b""
    leader_endpoints: tuple[VoterAddress, ...] = ()


class FetchSnapshotResponse(NamedTuple):
    error: ErrorCode
    epoch: int
    leader_id: int | None
    snapshot: SnapshotId | None = None
    size: int = 0
    position: int = 0
    data: bytes = b""
    leader_endpoints: tuple[VoterAddress, ...] = ()


class VoterResponse(NamedTuple):
    """The answer to AddRaftVoter and RemoveRaftVoter."""

    error: ErrorCode
    message: str | None = None


class NobodyThere(Exception):
    """Instead of an answer: the other's machine is there and refuses connections. Its process
    is dead, or starts."""


class HungUp(Exception):
    """Instead of an answer: the connection ended. Its process is dead, or closed it."""


VoterChangeRequest = AddVoterRequest | RemoveVoterRequest | UpdateVoterRequest
Request = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | VoterChangeRequest
)
Response = VoteResponse | EpochResponse | FetchResponse | FetchSnapshotResponse | VoterResponse
