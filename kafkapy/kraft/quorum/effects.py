"""What the machine wants done. The driver does it, in order, before anything else happens.

The order is the safety argument: a vote or a new epoch is durable (`Persist`) before the
message that speaks of it leaves (`Send`, or the answer to the request at hand).
"""

from typing import NamedTuple

from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.messages import Request
from kafkapy.kraft.quorum.state_file import ElectionState


class Persist(NamedTuple):
    """Replace the quorum-state file, durably."""

    state: ElectionState


class Send(NamedTuple):
    """To a voter by id; None: to any of the bootstrap servers."""

    to: int | None
    request: Request


class BecomeLeader(NamedTuple):
    """Append the LEADER_CHANGE of `epoch`; nothing else goes into the log before it."""

    epoch: int
    granting: tuple[int, ...]


class StopLeading(NamedTuple):
    """What is appended and not committed may be lost: whoever waits for it is told so."""

    epoch: int


class AppendFetched(NamedTuple):
    """Append batches from the leader, make them durable, then `log_flushed`."""

    records: bytes
    epoch: int


class Truncate(NamedTuple):
    end_offset: int


class FetchSnapshot(NamedTuple):
    """The leader no longer has what we lack: begin to copy this snapshot."""

    snapshot: SnapshotId


class SnapshotPiece(NamedTuple):
    """Write `data` at `position`; at the end of `size` bytes install the snapshot."""

    snapshot: SnapshotId
    position: int
    size: int
    data: bytes


class HighWatermarkMoved(NamedTuple):
    high_watermark: int


Effect = (
    Persist
    | Send
    | BecomeLeader
    | StopLeading
    | AppendFetched
    | Truncate
    | FetchSnapshot
    | SnapshotPiece
    | HighWatermarkMoved
)
