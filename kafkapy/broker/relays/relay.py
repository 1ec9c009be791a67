"""One relay: beside the leader of one partition, while it leads and its topic asks for it.

    begin    nobody else any more, how far it was (transaction.py)
    scan     what is committed here and nobody has looked at: leaves at once, waits, is dropped
    pass     what waits and was forgotten is found again in the log (kafkapy/relays/waiting.py)
    due      what the wall clock says is due leaves, in the order of (due, offset)
    commit   what leaves and how far it is then: one transaction

What fails is begun again, and then the committed words decide: if they are as before the
transaction, the same one is tried again; if they are as after it, it was committed; else somebody
else was here meanwhile, and what is in memory is forgotten.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.relays.calls import NodeCalls
from kafkapy.broker.relays.reading import Recent, read_committed
from kafkapy.broker.relays.transaction import NotNow, Plan, Steps, Transactions
from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode, Refused
from kafkapy.core.jobs import WAITING, Job, Pause
from kafkapy.core.seams import Clock, Journal
from kafkapy.core.time import Instant, later
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.protocol.batch import Codec
from kafkapy.protocol.records import Record
from kafkapy.relays.progress import (
    NOTHING,
    due_of,
    entry_of,
    from_text,
    offset_of,
    start_at,
)
from kafkapy.relays.rule import AT_ONCE, Rule, Sent, due_ms, is_cancel, sent
from kafkapy.relays.waiting import Waiting

# One transaction's.
MOST_RECORDS: Final = 500
MOST_BYTES: Final = 256 * 1024
# What is read at once, and how many records are looked at before others are served.
_READ_BYTES: Final = 64 * 1024
_LOOKED_AT: Final = 128
_LOOK_COST_US: Final = 5
# Looked at in a row without sending anything: then what is due has its turn.
_MOST_SCANNED: Final = 10_000
# The wall clock may be set at any time; so late at most it is noticed.
_LONGEST_NAP_MS: Final = 500
# How far it is, is written down after so long even if nothing left; and again although nothing
# changed, long before a group's offsets or a transactional id are forgotten.
_TELL_MS: Final = 5_000
_TELL_AGAIN_MS: Final = 3_600_000
_FIRST_BACKOFF_MS: Final = 50
_LONGEST_BACKOFF_MS: Final = 5_000
# That long it has tried before anybody is told.
_QUIET_MS: Final = 2_000


class Surroundings(Protocol):
    """What a relay asks of its broker (wiring.py)."""

    @property
    def clock(self) -> Clock: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def calls(self) -> NodeCalls: ...

    @property
    def image(self) -> MetadataImage: ...

    def create_topic(self, name: str) -> object: ...

    def most_waiting(self) -> int:
        """How many entries one relay may keep now."""

    def why_not(self, partition: Partition, rule: Rule) -> str | None:
        """What of the cluster keeps this relay from working."""

    def disk_failed(self, failed: DiskFailed) -> None: ...


class _Pass:
    """Over what waits: collects the next ones behind what is known."""

    def __init__(self, position: int, after: int, most: int) -> None:
        self.position = position
        self.after = after
        self.found = Waiting(most, after)
        self.lowest: int | None = None


class Relay:
    """`start` once; `stop` at any time, for good."""

    def __init__(self, node: Surroundings, partition: Partition, rule: Rule) -> None:
        self.partition = partition
        self.rule = rule
        self.trouble: str | None = None
        self._node = node
        self._clock = node.clock
        self._transactions = Transactions(
            partition.topic_partition,
            partition.topic_id,
            node.calls,
            lambda: node.image,
            node.create_topic,
            lambda: self._job.resume(),
        )
        self._job = Job(node.clock, self._steps())
        self._committed: str | None = None
        self._plan: Plan | None = None
        self._progress = start_at(0)
        self._waiting = Waiting(0)
        self._pass: _Pass | None = None
        self._is_loaded = False
        self._codec = Codec.NONE  # that of the records here is good enough for the target
        self._recent = Recent()
        self._told_at = Instant(0)
        self._failing_since: Instant | None = None

    @property
    def waits(self) -> int:
        """How many entries are in memory."""
        return len(self._waiting)

    def start(self) -> None:
        self.partition.watchers[self] = 0
        self._job.start_soon()

    def stop(self) -> None:
        self.partition.watchers.pop(self, None)
        self._job.stop()

    def on_more(self, mark: int, count_bytes: int) -> None:
        self._job.resume()

    # --- the steps ---

    def _steps(self) -> Steps:
        backoff_ms = _FIRST_BACKOFF_MS
        while True:
            try:
                yield from self._begin()
                while True:
                    if self._plan is None:
                        yield from self._prepare()
                    if self._plan is not None:
                        yield from self._commit(self._plan)
                        backoff_ms = _FIRST_BACKOFF_MS
                    else:
                        yield from self._rest()
            except NotNow as failed:
                self._in_trouble(failed)
            except Refused as refused:
                if refused.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                    raise
                self._forget()  # retention or DeleteRecords was there before us
            except Corrupt as bad:
                self._forget()
                self._in_trouble(NotNow(f"the log cannot be read: {bad}"))
            except DiskFailed as failed_disk:
                self._node.disk_failed(failed_disk)
                return
            yield Pause(backoff_ms)
            backoff_ms = min(2 * backoff_ms, _LONGEST_BACKOFF_MS)

    def _begin(self) -> Steps:
        why_not = self._node.why_not(self.partition, self.rule)
        if why_not is not None:
            raise NotNow(why_not)
        committed = yield from self._transactions.begin()
        if self._plan is not None and committed == self._plan.after:
            self._done(self._plan)
        elif committed != self._committed:
            self._forget()
            self._committed = committed
        if not self._is_loaded:
            self._load(committed)

    def _forget(self) -> None:
        """What is in memory says nothing any more."""
        self._committed = self._plan = self._pass = None
        self._is_loaded = False

    def _load(self, committed: str) -> None:
        start = self.partition.log.log_start_offset
        progress = from_text(committed) if committed else start_at(start)
        if progress is None:
            raise NotNow("another version of kafkapy wrote how far it is")
        if progress.scanned < start:
            progress = progress.scan_to(start)
        self._progress = progress._replace(lowest=max(progress.lowest, start))
        self._waiting = Waiting(self._node.most_waiting())
        # Everything that waits is beyond what is known: a pass begins.
        self._waiting.horizon = NOTHING
        self._told_at = self._clock.now()
        self._is_loaded = True

    def _commit(self, plan: Plan) -> Steps:
        try:
            yield from self._transactions.commit(plan)
        except NotNow as failed:
            if failed.code == ErrorCode.MESSAGE_TOO_LARGE:
                self._plan = plan._replace(is_one_by_one=True)
            raise
        self._done(plan)

    def _done(self, plan: Plan) -> None:
        self._committed = plan.after
        self._plan = None
        self._told_at = self._clock.now()
        self._failing_since = None
        if self.trouble is not None:
            self.trouble = None
            self._node.journal.info("relay goes on", partition=self.partition.topic_partition)

    def _in_trouble(self, failed: NotNow) -> None:
        """Said once it has lasted, and once for each reason."""
        now = self._clock.now()
        if self._failing_since is None:
            self._failing_since = now
        if now - self._failing_since >= _QUIET_MS and str(failed) != self.trouble:
            self.trouble = str(failed)
            self._node.journal.warning(
                "relay waits", partition=self.partition.topic_partition, reason=failed
            )

    def _rest(self) -> Steps:
        """Until there is more, something is due, or it is time to write down how far it is."""
        log = self.partition.log
        if self._pass is not None or self._progress.scanned < log.last_stable_offset:
            yield _LOOK_COST_US
            return
        now = self._clock.now()
        until = later(self._told_at, _TELL_AGAIN_MS)
        if self._is_ahead:
            until = later(self._told_at, _TELL_MS)
        first = self._waiting.first()
        if first is not None:
            nap_ms = max(due_of(first) - self._clock.wall(), 1)
            until = min(until, later(now, min(nap_ms, _LONGEST_NAP_MS)))
        timer = self._clock.call_at(max(until, later(now, 1)), self._job.resume)
        try:
            yield WAITING
        finally:
            timer.cancel()

    @property
    def _is_ahead(self) -> bool:
        return self._progress.to_text() != self._committed

    # --- what leaves next ---

    def _prepare(self) -> Steps:
        """Sets `_plan` if there is something to write."""
        parcel = _Parcel()
        yield from self._scan(parcel)
        yield from self._pass_over()
        entries = self._take_due(parcel)
        yield from self._find(entries, parcel)
        since = self._clock.now() - self._told_at
        is_time = since >= (_TELL_MS if self._is_ahead else _TELL_AGAIN_MS)
        if parcel.sends or (is_time and self._progress.scanned):
            self._settle_lowest()
            progress = self._progress
            self._plan = Plan(tuple(parcel.sends), self._codec, progress.lowest, progress.to_text())

    def _scan(self, parcel: "_Parcel") -> Steps:
        log = self.partition.log
        looked_at = 0
        while (
            self._progress.scanned < log.last_stable_offset
            and not parcel.is_full
            and looked_at < _MOST_SCANNED
        ):
            stretch = read_committed(log, self._progress.scanned, _READ_BYTES)
            self._codec = stretch.codec
            for record in stretch.records:
                self._look_at(record, parcel)
                looked_at += 1
                if not looked_at % _LOOKED_AT:
                    yield _LOOKED_AT * _LOOK_COST_US
                if parcel.is_full:
                    self._progress = self._progress.scan_to(record.offset + 1)
                    return
            self._progress = self._progress.scan_to(stretch.next_offset)
            yield _LOOK_COST_US

    def _look_at(self, record: Record, parcel: "_Parcel") -> None:
        rule = self.rule
        if rule.where is not None and not rule.where(record):
            return
        if is_cancel(record):
            if record.key is not None:
                self._waiting.cancel(record.key)
            return
        due = due_ms(rule, record)
        if due == AT_ONCE:
            parcel.add(sent(rule, record, due))
            return
        entry = entry_of(due, record.offset)
        if entry <= self._progress.frontier:
            # Others that were due later have left before it came.
            if due > self._clock.wall():  # only where the clock was set back
                self._progress = self._progress.scan_to(record.offset).begin_section()
            if entry <= self._progress.frontier:
                parcel.add(sent(rule, record, due))
                return
        self._waiting.add(entry, record.key)

    def _take_due(self, parcel: "_Parcel") -> list[int]:
        entries: list[int] = []
        waiting, wall = self._waiting, self._clock.wall()
        while len(parcel.sends) + len(entries) < MOST_RECORDS:
            first = waiting.first()
            if first is None or due_of(first) > wall:
                break
            entries.append(waiting.pop())
        return entries

    def _find(self, entries: Sequence[int], parcel: "_Parcel") -> Steps:
        """Their records, read in the order of the log, sent in that of their entries."""
        log = self.partition.log
        found: dict[int, Record | None] = {}
        decoded = 0
        for entry in sorted(entries, key=offset_of):
            record, count = self._recent.find(log, offset_of(entry))
            found[entry] = record
            decoded += count + 1
            if decoded >= _LOOKED_AT:
                yield decoded * _LOOK_COST_US
                decoded = 0
        for position, entry in enumerate(entries):
            if parcel.is_full:
                # Large ones: what is left waits for the next transaction.
                self._waiting.put_back(entries[position:])
                return
            record = found[entry]
            self._progress = self._progress.left(entry)
            if record is not None:
                self._waiting.gone(entry, record.key)
                parcel.add(sent(self.rule, record, due_of(entry)))

    # --- what waits ---

    def _pass_over(self) -> Steps:
        """Some more of a pass, if one is needed; all of it while nothing else is known."""
        if self._pass is None:
            if not self._waiting.needs_pass:
                return
            horizon = self._waiting.horizon
            assert horizon is not None, "only what is beyond a horizon needs a pass"
            self._pass = _Pass(self._progress.lowest, horizon, self._node.most_waiting())
        under_way, log = self._pass, self.partition.log
        under_way.position = max(under_way.position, log.log_start_offset)
        looked_at = 0
        while under_way.position < self._progress.scanned and looked_at < _MOST_SCANNED:
            scanned = self._progress.scanned
            stretch = read_committed(log, under_way.position, _READ_BYTES)
            self._codec = stretch.codec
            for record in stretch.records:
                if record.offset >= scanned:
                    break
                self._look_again(record, under_way)
                looked_at += 1
                if not looked_at % _LOOKED_AT:
                    yield _LOOKED_AT * _LOOK_COST_US
            under_way.position = min(stretch.next_offset, scanned)
            yield _LOOK_COST_US
        if under_way.position < self._progress.scanned:
            return
        self._pass = None
        if under_way.after == self._waiting.horizon:
            self._waiting.join(under_way.found)
            lowest = under_way.lowest
            self._progress = self._progress._replace(
                lowest=self._progress.scanned if lowest is None else lowest
            )

    def _look_again(self, record: Record, under_way: _Pass) -> None:
        rule = self.rule
        if rule.where is not None and not rule.where(record):
            return
        if is_cancel(record):
            if record.key is not None:
                under_way.found.cancel(record.key)
            return
        due = due_ms(rule, record)
        if self._progress.is_over(due, record.offset):
            return
        if under_way.lowest is None:
            under_way.lowest = record.offset
        under_way.found.add(entry_of(due, record.offset), record.key)

    def _settle_lowest(self) -> None:
        """The committed offset: nothing before it waits."""
        waiting, progress = self._waiting, self._progress
        if self._pass is None and waiting.horizon is None and not len(waiting):
            self._progress = progress._replace(lowest=progress.scanned)


class _Parcel:
    """What one transaction sends."""

    def __init__(self) -> None:
        self.sends: list[Sent] = []
        self.size = 0

    @property
    def is_full(self) -> bool:
        return len(self.sends) >= MOST_RECORDS or self.size >= MOST_BYTES

    def add(self, one: Sent) -> None:
        self.sends.append(one)
        record = one.record
        self.size += len(record.key or b"") + len(record.value or b"")
