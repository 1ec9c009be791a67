"""What this replica of the metadata log tells the others who ask.

    request --> machine judges --> its effects, durably --> answer
                                                  \\-> failed: nobody is told anything

No answer leaves before what it rests on is on the disk: a vote that could not be persisted
was never given. A replica that has not begun or has ended says nothing at all.
"""

from collections.abc import Callable

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Clock
from kafkapy.kraft.log.metadata_log import MetadataLog
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.quorum.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumStopped,
    Request,
    Response,
)
from kafkapy.kraft.quorum.quorum import Quorum
from kafkapy.kraft.quorum.waiting_fetches import Answered, WaitingFetches

__all__ = ["Answering", "QuorumStopped"]


class Answering:
    """`carry_out` does what the machine wants done; `end` is called when that failed, or what
    `failed` is told of."""

    def __init__(
        self,
        quorum: Quorum,
        log: MetadataLog,
        clock: Clock,
        carry_out: Callable[[], None],
        failed: Callable[[DiskFailed], None],
    ) -> None:
        self._quorum = quorum
        self._log = log
        self._clock = clock
        self._carry_out = carry_out
        self._failed = failed
        self._fetches = WaitingFetches(clock, self._judge_fetch)
        self.is_on = False

    def begin(self) -> None:
        self.is_on = True

    def end(self) -> None:
        self.is_on = False
        self._fetches.end(QuorumStopped())

    def news(self) -> None:
        """The log grew, the high watermark moved, or this node leads no more."""
        self._fetches.news()

    def handle(self, request: Request) -> Response:
        """What has to be durable first is, when this returns. QuorumStopped, or Refused if
        the request as a whole is. A fetch is asked with `fetch`."""
        if not self.is_on:
            raise QuorumStopped
        try:
            return self._handle(request)
        except DiskFailed as failure:
            self._failed(failure)
            raise QuorumStopped from failure

    def fetch(self, request: FetchRequest, then: Answered) -> None:
        """`then` gets the answer with its records, or what `handle` raises: at once, or when
        there is news for this replica, or after the longest that it is ready to wait."""
        self._fetches.ask(request, then)

    def _handle(self, request: Request) -> Response:
        size = None
        if isinstance(request, FetchSnapshotRequest):
            size = self._snapshot_size(request.snapshot)
        answer = self._quorum.handle(request, self._clock.now(), snapshot_size=size)
        self._carry_out()
        if not self.is_on:
            raise QuorumStopped
        if isinstance(answer, FetchSnapshotResponse) and not answer.error:
            assert isinstance(request, FetchSnapshotRequest)
            data = self._log.snapshots.read(request.snapshot, request.position, request.max_bytes)
            return answer._replace(data=data)
        return answer

    def _judge_fetch(self, request: FetchRequest) -> FetchResponse:
        answer = self.handle(request)
        assert isinstance(answer, FetchResponse), answer
        if answer.error or answer.diverging or answer.snapshot:
            return answer
        # Uncommitted batches too: that is how they come to be committed.
        try:
            records = self._log.read(request.offset, self._log.end_offset, request.max_bytes)
        except DiskFailed as failure:
            self._failed(failure)
            raise QuorumStopped from failure
        return answer._replace(records=records)

    def _snapshot_size(self, snapshot: SnapshotId) -> int | None:
        snapshots = self._log.snapshots
        return snapshots.size(snapshot) if snapshot in snapshots.ids else None
