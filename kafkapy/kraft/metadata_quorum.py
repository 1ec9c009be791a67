"""This node's part in the metadata quorum: the machine, its log, and the image it makes.

    append --> log --> flush --> machine: high watermark --> replay --> image, subscribers
                                                                            |
               `when_committed` of whoever appended  <----------------------'

The machine (quorum/) decides, this module carries its effects out in order and feeds it
what happens: time, flushes, requests of others and their answers. A quorum of one leads
within `start`, as fast as its disk flushes. Flushes are shared: what is appended while
one runs goes with the next.

When this node leads and has applied all there was, `on_lead(image, bootstrap)` starts the
controller; `on_resign` ends it. formats/quorum 5, formats/metadata 2.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode, Refused
from kafkapy.core.jobs import Job
from kafkapy.core.seams import Clock, Disk, Flushed, Journal, Rng
from kafkapy.kraft.image.image import METADATA_VERSION, MetadataImage
from kafkapy.kraft.log.copying import Copied, Copying
from kafkapy.kraft.log.loading import Loading
from kafkapy.kraft.log.metadata_log import MetadataLog
from kafkapy.kraft.log.replay import Appended, Replay
from kafkapy.kraft.log.snapshot_file import SnapshotId
from kafkapy.kraft.log.snapshotting import Snapshotting
from kafkapy.kraft.quorum.answering import Answering, QuorumStopped
from kafkapy.kraft.quorum.effects import (
    AppendFetched,
    BecomeLeader,
    Effect,
    FetchSnapshot,
    HighWatermarkMoved,
    Persist,
    Send,
    SnapshotPiece,
    StopLeading,
    Truncate,
)
from kafkapy.kraft.quorum.epoch_start import first_records
from kafkapy.kraft.quorum.leader import Leader
from kafkapy.kraft.quorum.messages import HungUp, NobodyThere, Request, Response
from kafkapy.kraft.quorum.quorum import Quorum
from kafkapy.kraft.quorum.state_file import QUORUM_STATE, read_quorum_state, render_quorum_state
from kafkapy.kraft.quorum.ticking import Ticking
from kafkapy.kraft.quorum.voter_changes import Probe, VoterChanges, VoterChangeSettings
from kafkapy.kraft.quorum.voter_history import VoterHistory
from kafkapy.kraft.quorum.voters import Voter
from kafkapy.kraft.quorum_facts import MetadataQuorumSettings, QuorumFacts
from kafkapy.kraft.records.control import ControlRecord
from kafkapy.kraft.records.metadata import FeatureLevelRecord, MetadataRecord
from kafkapy.kraft.storage.adoption import METADATA_DIRECTORY
from kafkapy.kraft.storage.bootstrap import read_bootstrap
from kafkapy.runtime.record_log import Committed

OnLead = Callable[[MetadataImage, Sequence[MetadataRecord]], None]
Answered = Callable[[Response | Exception], None]
Transport = Callable[[int | None, Request, Answered], None]


class MetadataQuorum(QuorumFacts):
    """Open it, `subscribe`, set `on_lead` and `on_resign`, then `start`.

    `transport(to, request, then)` calls another voter (None: any bootstrap server); a
    quorum of one needs none. `probe` asks a voter to be for its versions. `on_failed`
    hears of a disk that failed: the node must stop; DiskFailed if it cannot even be opened.
    """

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        metadata_path: str,
        settings: MetadataQuorumSettings,
        *,
        transport: Transport | None = None,
        probe: Probe | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.settings = settings
        self.on_lead: OnLead = lambda image, bootstrap: None
        self.on_resign: Callable[[], None] = lambda: None
        self.on_failed: Callable[[DiskFailed], None] = _raise
        self.log = MetadataLog.open(
            disk, clock, rng, metadata_path, segment_bytes=settings.segment_bytes
        )
        self.log.partition.events.on_disk_failed = self._disk_failed
        self._disk = disk
        self._clock = clock
        self._metadata_path = metadata_path
        self._quorum_state_path = f"{metadata_path}/{METADATA_DIRECTORY}/{QUORUM_STATE}"
        self._stored = read_quorum_state(disk, self._quorum_state_path)
        self._transport = transport
        self._journal = journal
        self._history = VoterHistory(settings.configured_voters)
        self._replay = Replay(self.log, clock, self._applied, self._disk_failed)
        self._snapshotting = Snapshotting(
            self.log.snapshots, clock, settings.snapshots, self._snapshot_finished
        )
        self._copying = Copying(self.log.snapshots, clock, self._snapshot_copied)
        self._quorum = Quorum(
            local=settings.local,
            endpoints=settings.endpoints,
            cluster_id=settings.cluster_id,
            log=self.log,
            rng=rng,
            settings=settings.quorum,
        )
        self._ticking = Ticking(self._quorum, clock, self._carry_out)
        self.answering = Answering(
            self._quorum, self.log, clock, self._carry_out, self._disk_failed
        )
        self.voter_changes = VoterChanges(
            self._quorum,
            Voter(settings.local, settings.endpoints),
            clock,
            VoterChangeSettings(
                listener=settings.endpoints[0].listener if settings.endpoints else "",
                request_timeout_ms=settings.quorum.request_timeout_ms,
            ),
            history=lambda: self._history,
            append=self._append_change,
            carry_out=self._carry_out,
            probe=probe,
            is_on=lambda: self.answering.is_on,
        )
        # Hears of nodes whose process is not there, whenever one of them was to be told something.
        self.on_nobody_there: Callable[[int], None] = lambda node_id: None
        self.on_hung_up: Callable[[int], None] = lambda node_id: None
        self._when_led: list[Callable[[], None]] = []
        self._told_leader: int | None = None
        self._waiting: deque[tuple[int, Committed]] = deque()
        self._is_active = False
        self._is_flushing = False
        self._is_closed = False
        self._is_carrying_out = False
        self._metadata_version = 0
        self._loading: Job | None = None
        self._loaded: Callable[[], None] | None = None

    # -- beginning and end -------------------------------------------------------------

    def start(self, then: Callable[[], None] | None = None) -> None:
        """Load, then take part. `then`: the image is loaded (`is_loaded`), and if this node
        leads already, `on_lead` has been called."""
        self._loaded = then
        loading = Loading(self.log, self._history, self._journal)

        def scanned() -> None:
            self._replay.start_at(loading.image, loading.next_offset, loading.delta)
            # What was read may not have been flushed by the process that wrote it.
            self.log.flush(begin)

        def begin(failure: DiskFailed | None) -> None:
            if failure is not None:
                self._disk_failed(failure)
            elif not self._is_closed:
                now = self._clock.now()
                history = self._history
                self._quorum.begin(self._stored, history.voters, now, history.kraft_version)
                self.answering.begin()
                self._carry_out()

        self._loading = Job(self._clock, loading.steps(scanned, self._disk_failed))
        self._loading.start()

    def close(self, then: Flushed) -> None:
        """Stop taking part; the log is flushed and closed."""
        if self._is_closed:
            then(None)
            return
        self._quorum.shut_down(self._clock.now())
        self._carry_out()
        self._stop()
        self.log.partition.close(then)

    # -- the leader --------------------------------------------------------------------

    def append(self, records: Sequence[MetadataRecord]) -> int:
        """One batch, all or none; the offset behind it, for `when_committed`. Refused if
        this node is not the active controller."""
        if not self._is_active:
            raise Refused(ErrorCode.NOT_CONTROLLER)
        now, base_offset, epoch = self._clock.wall(), self.log.end_offset, self._quorum.epoch
        try:
            size = self.log.append(
                records, epoch=epoch, metadata_version=self._metadata_version, now=now
            )
        except DiskFailed as failure:
            self._disk_failed(failure)
            raise Refused(ErrorCode.NOT_CONTROLLER) from failure
        for record in records:
            if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION:
                self._metadata_version = record.feature_level
        end = self.log.end_offset
        self._replay.appended(Appended(base_offset, end, epoch, now, size, tuple(records)))
        self.answering.news()
        self._flush()
        return end

    def cannot_raise_kraft_version(self) -> str | None:
        """Why kraft.version may not go from 0 to 1 now; None if it may."""
        return self.voter_changes.cannot_upgrade()

    def raise_kraft_version(self) -> None:
        """To 1: the voters are in the log from here on. Refused if this node does not lead."""
        if not self._is_active:
            raise Refused(ErrorCode.NOT_CONTROLLER)
        try:
            self.voter_changes.upgrade()
        except QuorumStopped as stopped:
            raise Refused(ErrorCode.NOT_CONTROLLER) from stopped

    def when_committed(self, end_offset: int, then: Committed) -> None:
        """`then(None)` once all below is committed and in the image, in the order of the
        offsets; `then(NOT_CONTROLLER)` if this node stops leading first."""
        if end_offset <= self._replay.next_offset:
            then(None)
        elif not self._is_active:
            then(ErrorCode.NOT_CONTROLLER)
        else:
            self._waiting.append((end_offset, then))

    def _append_leader_change(self, effect: BecomeLeader) -> None:
        settings = self.settings
        self._append_control(
            first_records(settings.local, settings.endpoints, effect.granting, self._history)
        )

    def _append_control(self, control: Sequence[ControlRecord]) -> int:
        """One batch, by the leader; the offset behind it. What it says of voters holds at once."""
        now, base_offset, epoch = self._clock.wall(), self.log.end_offset, self._quorum.epoch
        size = self.log.append_control(control, epoch=epoch, now=now)
        for offset, record in enumerate(control, base_offset):
            self._history.note(offset, record)
        self._voters_changed()
        end = self.log.end_offset
        self._replay.appended(Appended(base_offset, end, epoch, now, size, ()))
        self.answering.news()
        self._flush()
        return end

    def _append_change(self, control: Sequence[ControlRecord]) -> int:
        """As `_append_control`, asked for from outside."""
        try:
            return self._append_control(control)
        except DiskFailed as failure:
            self._disk_failed(failure)
            raise QuorumStopped from failure

    def _voters_changed(self) -> None:
        history = self._history
        self._quorum.set_voters(history.voters, self._clock.now(), history.kraft_version)

    def _begin_to_lead(self, leader: Leader) -> None:
        """Everything of older epochs is committed and applied, our LEADER_CHANGE too."""
        self._is_active = True
        self._metadata_version = self.image.metadata_version
        if self._journal is not None:
            self._journal.info(
                "leads the metadata quorum", epoch=leader.epoch, offset=self.image.offset
            )
        is_new = self._metadata_version == 0
        self.on_lead(self.image, read_bootstrap(self._disk, self._metadata_path) if is_new else ())

    def _stop_leading(self) -> None:
        self._replay.forget_appended()
        self.voter_changes.stopped_leading()
        was_active, self._is_active = self._is_active, False
        waiting, self._waiting = self._waiting, deque()
        for _, then in waiting:
            then(ErrorCode.NOT_CONTROLLER)
        if was_active:
            self.on_resign()

    # -- effects -----------------------------------------------------------------------

    def _carry_out(self) -> None:
        """All effects in order, also those that arise meanwhile; then the timer."""
        if self._is_carrying_out or self._is_closed:
            return
        self._is_carrying_out = True
        try:
            while effects := self._quorum.take_effects():
                for effect in effects:
                    if not self._is_closed:
                        self._do(effect)
        except DiskFailed as failure:
            self._disk_failed(failure)
        except Exception as bug:
            # What the machine believes done is not, a vote perhaps: that ends the process, not
            # only the request that it came of.
            self._stop()
            self._clock.call_soon(partial(_raise, bug))
            raise
        finally:
            self._is_carrying_out = False
        if self._is_closed:
            return  # what could not be persisted is known to nobody
        if not self._quorum.is_copying:
            self._copying.abandon()
        self._tell_of_leader()
        self._ticking.arm()

    def _tell_of_leader(self) -> None:
        leader_id = self._quorum.leader_id
        if leader_id != self._told_leader:
            self._told_leader = leader_id
            for then in self._when_led if leader_id is not None else ():
                then()

    def _do(self, effect: Effect) -> None:
        match effect:
            case Persist():
                rendered = render_quorum_state(
                    effect.state,
                    kraft_version=self._history.kraft_version,
                    voter_ids=self._quorum.voters.ids,
                )
                self._disk.write_file(self._quorum_state_path, rendered)
            case Send():
                self._send(effect)
            case BecomeLeader():
                self._append_leader_change(effect)
            case StopLeading():
                self._stop_leading()
                self.answering.news()
            case HighWatermarkMoved():
                self.log.partition.advance_high_watermark(effect.high_watermark)
                self._replay.advance(effect.high_watermark)
                self.answering.news()
                self.voter_changes.advanced()
            case AppendFetched():
                self._append_fetched(effect)
            case Truncate():
                self.log.truncate_to(effect.end_offset)
                self._history.truncate_to(self.log.end_offset)
                self._voters_changed()
            case FetchSnapshot():
                self._copying.begin(effect.snapshot)
            case SnapshotPiece():
                self._copying.piece(effect)

    def _send(self, effect: Send) -> None:
        def answered(answer: Response | Exception) -> None:
            if self._is_closed:
                return
            now = self._clock.now()
            if isinstance(answer, Exception):
                is_gone = isinstance(answer, NobodyThere)
                self._quorum.request_failed(effect.to, now, is_gone=is_gone)
                if is_gone and effect.to is not None:
                    self.on_nobody_there(effect.to)
                elif isinstance(answer, HungUp) and effect.to is not None:
                    self.on_hung_up(effect.to)
            else:
                try:
                    self._quorum.response(effect.to, effect.request, answer, now)
                except Corrupt as nonsense:
                    self._quorum.request_failed(effect.to, now)
                    if self._journal is not None:
                        self._journal.warning("quorum peer answers nonsense", problem=str(nonsense))
            self._carry_out()

        if self._transport is not None:
            self._transport(effect.to, effect.request, answered)

    def _append_fetched(self, effect: AppendFetched) -> None:
        for batch in self.log.append_fetched(effect.records, epoch=effect.epoch):
            if batch.header.is_control:
                for offset, record in batch.control_records():
                    self._history.note(offset, record)
        self._voters_changed()
        self._flush()

    def _flush(self) -> None:
        if self._is_flushing or self._is_closed:
            return
        self._is_flushing = True
        self.log.flush(self._flushed)

    def _flushed(self, failure: DiskFailed | None) -> None:
        self._is_flushing = False
        if failure is not None:
            self._disk_failed(failure)
            return
        if self._is_closed:
            return
        self._quorum.log_flushed(self.log.flushed_offset, self._clock.now())
        if self.log.flushed_offset < self.log.end_offset:
            self._flush()
        self._carry_out()

    # -- the image ---------------------------------------------------------------------

    def _applied(self, next_offset: int, size: int) -> None:
        """Replay has applied a batch (size 0: and that was all that there was at first)."""
        self._snapshotting.applied(size)
        if not self._replay.is_loaded:
            return
        if size == 0:
            self._snapshotting.replayed(self._snapshot_if_due)
        while self._waiting and self._waiting[0][0] <= next_offset:
            self._waiting.popleft()[1](None)
        role = self._quorum.role
        if (
            isinstance(role, Leader)
            and not self._is_active
            and next_offset > role.epoch_start_offset
        ):
            self._begin_to_lead(role)
        if self._loaded is not None:
            loaded, self._loaded = self._loaded, None
            loaded()
        self._snapshot_if_due()

    def _snapshot_if_due(self) -> None:
        is_due = self._snapshotting.is_due() and not self._is_closed
        if is_due and not self.image.is_in_transaction:
            end_offset = self.image.offset + 1
            self._snapshotting.begin(self.image, *self._history.at(end_offset))

    def _snapshot_finished(self, snapshot: SnapshotId, failure: DiskFailed | None) -> None:
        if failure is not None:
            self._disk_failed(failure)
            return
        if self._journal is not None:
            self._journal.info("metadata snapshot written", snapshot=snapshot.file_name)
        settings = self.settings.snapshots
        try:
            self.log.clean(
                self._clock.wall(),
                max_bytes=settings.max_retention_bytes,
                max_age_ms=settings.max_retention_ms,
            )
        except DiskFailed as failed:
            self._disk_failed(failed)
            return
        self._history.forget_before(self.log.start_offset)
        self._snapshot_if_due()

    def _snapshot_copied(self, copied: Copied | Corrupt | DiskFailed) -> None:
        """If it is still ahead of what is here, it takes the place of that."""
        if isinstance(copied, DiskFailed):
            self._disk_failed(copied)
            return
        if isinstance(copied, Corrupt) and self._journal is not None:
            self._journal.error("metadata snapshot corrupt", problem=str(copied))
        try:
            is_installed = isinstance(copied, Copied) and self._install(copied)
        except DiskFailed as failed:
            self._disk_failed(failed)
            return
        self._quorum.install_ended(self._clock.now(), is_installed=is_installed)
        self._carry_out()

    def _install(self, copied: Copied) -> bool:
        """Log, voters and image in one step. A crash in it is made good by the next start, which
        finds the log that ends before the snapshot."""
        contents = copied.contents
        if not self.log.is_before(contents.snapshot):
            copied.file.abandon()
            return False
        self._snapshotting.abandon()
        copied.file.take_its_name()
        self.log.begin_behind(contents.snapshot)
        self._history = VoterHistory(self.settings.configured_voters)
        contents.tell(self._history)
        self._replay.start_at(contents.image, contents.snapshot.end_offset, contents.delta)
        self._voters_changed()
        return True

    # -- failing -----------------------------------------------------------------------

    def _disk_failed(self, failure: DiskFailed | None) -> None:
        """Nothing here may go on without its disk: what is not flushed is not there."""
        if failure is None or self._is_closed:
            return
        self._stop()
        self.log.partition.abandon()
        self.on_failed(failure)

    def _stop(self) -> None:
        self._is_closed = True
        if self._loading is not None:
            self._loading.stop()
        self._replay.stop()
        self._snapshotting.abandon()
        self._copying.abandon()
        self.answering.end()
        self._ticking.stop()
        self._stop_leading()


def _raise(failure: Exception) -> None:
    raise failure
