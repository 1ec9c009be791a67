"""One relay: beside the leader of one partition, while it leads and its topic asks for it.

    begin    nobody else any more, how far it was (transaction.py)
    scan     what is committed here and nobody has looked at: leaves at once, waits, is dropped
    pass     what waits and was forgotten is found again in the log (kafkapy/relays/waiting.py)
    ahead    what is due within seconds is read before it is (ahead.py)
    due      what the wall clock says is due leaves, in the order of (due, offset)
    commit   what leaves and how far it is then: one transaction

What fails is begun again, and then the committed words decide: if they are as before the
transaction, the same one is tried again; if they are as after it, it was committed; else somebody
else was here meanwhile, and what is in memory is forgotten.

Another target than the committed words are about is begun with a transaction that sends nothing and
keeps how far the relay was with the one before.
"""

from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.relays.ahead import Ahead, size_of
from kafkapy.broker.relays.calls import NodeCalls
from kafkapy.broker.relays.reading import read_committed
from kafkapy.broker.relays.transaction import Kept, NotNow, Plan, Steps, Transactions
from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode, Refused
from kafkapy.core.jobs import WAITING, Job, Pause
from kafkapy.core.seams import Clock, Journal
from kafkapy.core.time import Instant, later
from kafkapy.hooks.api import Place
from kafkapy.hooks.guarded import Guarded, HookFailed
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.protocol.batches.batch import BatchHeader, Codec
from kafkapy.relays.progress import Progress, from_text, start_at
from kafkapy.relays.rule import Rule, Sent
from kafkapy.relays.schedule import Schedule

if TYPE_CHECKING:
    from kafkapy.broker.hooks.relays import HookedRelay

# One transaction's.
MOST_RECORDS: Final = 500
MOST_BYTES: Final = 256 * 1024
# After a transaction of fewer, others may gather for so long: it costs as much as some dozens of
# records do.
_FEW: Final = 100
_GATHER_MS: Final = 10
# What is read at once, and how many records are looked at before others are served.
_READ_BYTES: Final = 64 * 1024
_LOOKED_AT: Final = 128
_LOOK_COST_US: Final = 5
_GIVE_WAY_US: Final = 640
_SLICE_US: Final = _LOOKED_AT * _LOOK_COST_US
# Of the log, so that what is due next is at hand: 4 MB over all relays, four times.
_KEPT_BYTES_AN_ENTRY: Final = 7
# Looked at in a row, or read ahead, without sending anything: then what is due has its turn.
_MOST_SCANNED: Final = 2_000
_AHEAD_US: Final = 10_000
_NO_END_US: Final = 1 << 62
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

    def hook_of(self, topic: str, name: str) -> Guarded:
        """The hook `name`, for that topic."""

    def disk_failed(self, failed: DiskFailed) -> None: ...


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
        self._target_id = UUID(int=0)
        self._plan: Plan | None = None
        self._schedule = Schedule(rule, start_at(0), 0)
        self._is_loaded = False
        self._change: HookedRelay | None = None
        self._codec = Codec.NONE  # that of the records here is good enough for the target
        self._ahead = Ahead()
        self._told_at = Instant(0)
        self._failing_since: Instant | None = None

    @property
    def waits(self) -> int:
        """How many entries are in memory."""
        return len(self._schedule)

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
                        are_few = len(self._plan.sends) < _FEW
                        yield from self._commit(self._plan)
                        backoff_ms = _FIRST_BACKOFF_MS
                        if are_few:
                            yield Pause(_GATHER_MS)
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
            except HookFailed as failed_hook:
                self._forget()  # what it had found out by then says nothing
                self._in_trouble(NotNow(str(failed_hook)))
            except DiskFailed as failed_disk:
                self._node.disk_failed(failed_disk)
                return
            yield Pause(backoff_ms)
            backoff_ms = min(2 * backoff_ms, _LONGEST_BACKOFF_MS)

    def _begin(self) -> Steps:
        why_not = self._node.why_not(self.partition, self.rule)
        if why_not is not None:
            raise NotNow(why_not)
        target = self._node.image.topics_by_name.get(self.rule.target)
        if target is None:
            raise NotNow(f"there is no topic {self.rule.target}")
        committed = yield from self._transactions.begin()
        if self._plan is not None and committed == self._plan.after:
            self._done(self._plan)
        if committed != self._committed or target.id != self._target_id:
            self._forget()
            self._committed = committed
            self._target_id = target.id
        if not self._is_loaded:
            yield from self._load(committed)

    def _forget(self) -> None:
        """What is in memory says nothing any more."""
        self._committed = self._plan = None
        self._ahead.forget()
        self._is_loaded = False

    def _load(self, committed: str) -> Steps:
        start = self.partition.log.log_start_offset
        target = self._target_id.hex
        progress = before = _read(committed) if committed else start_at(start, target)
        if before.target != target:
            text = yield from self._transactions.kept(target)
            progress = _read(text) if text else start_at(start, target)
            others_from = max(before.others_from, before.scanned)
            progress = progress._replace(others_from=others_from)
        progress = progress.scan_to(max(progress.scanned, start))
        progress = progress.reach(max(progress.lowest, start))
        most = self._node.most_waiting()
        place = self.partition.topic_partition
        self._change = self._changed_by_hook() if self.rule.hook else None
        self._schedule = Schedule(self.rule, progress, most, place, self._change)
        self._told_at = self._clock.now()
        self._is_loaded = True
        if before.target != target:
            is_there = UUID(before.target) in self._node.image.topics_by_id
            kept = Kept(before.target, before.lowest, committed) if is_there else None
            self._plan = self._planned((), kept)

    def _planned(self, sends: tuple[Sent, ...], kept: Kept | None = None) -> Plan:
        progress = self._schedule.progress
        target = (self.rule.target, self._target_id)
        return Plan(sends, self._codec, progress.lowest, progress.to_text(), target, kept)

    def _changed_by_hook(self) -> "HookedRelay":
        from kafkapy.broker.hooks.relays import HookedRelay  # few relays have one

        topic, index = self.partition.topic_partition
        return HookedRelay(self._node.hook_of(topic, self.rule.hook), Place(topic, index))

    def _cost_us(self) -> int:
        """Of the last record that was looked at, or left."""
        return _LOOK_COST_US + (0 if self._change is None else self._change.take_cost_us())

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
        schedule = self._schedule
        is_too_early = self._is_too_early
        if (
            (schedule.is_passing and not is_too_early)
            or self._ahead.is_sweeping
            or (schedule.may_scan and schedule.progress.scanned < log.last_stable_offset)
        ):
            yield _LOOK_COST_US
            return
        now = self._clock.now()
        until = later(self._told_at, _TELL_AGAIN_MS)
        if self._is_ahead:
            until = later(self._told_at, _TELL_MS)
        if is_too_early:
            until = min(until, later(now, _LONGEST_NAP_MS))
        due = schedule.next_due()
        if due is not None:
            nap_ms = max(due - self._clock.wall(), 1)
            until = min(until, later(now, min(nap_ms, _LONGEST_NAP_MS)))
        timer = self._clock.call_at(max(until, later(now, 1)), self._job.resume)
        try:
            yield WAITING
        finally:
            timer.cancel()

    @property
    def _is_ahead(self) -> bool:
        return self._schedule.progress.to_text() != self._committed

    # --- what leaves next ---

    def _prepare(self) -> Steps:
        """Sets `_plan` if there is something to write."""
        parcel = _Parcel()
        yield from self._scan(parcel)
        yield from self._pass_over()
        yield from self._look_ahead()
        yield from self._due(parcel)
        since = self._clock.now() - self._told_at
        is_time = since >= (_TELL_MS if self._is_ahead else _TELL_AGAIN_MS)
        if parcel.sends or (is_time and self._schedule.progress.scanned):
            self._schedule.settle()
            self._plan = self._planned(tuple(parcel.sends))

    def _scan(self, parcel: "_Parcel") -> Steps:
        log, schedule = self.partition.log, self._schedule
        looked_at = cost = 0
        while (
            schedule.may_scan
            and schedule.progress.scanned < log.last_stable_offset
            and not parcel.is_full
            and looked_at < _MOST_SCANNED
        ):
            at = schedule.progress.scanned
            stretch = read_committed(log, at, _READ_BYTES, self._on_garbage)
            self._codec = stretch.codec
            wall = self._clock.wall()
            for record in stretch.records:
                parcel.add(schedule.look_at(record, wall))
                looked_at += 1
                cost += self._cost_us()
                if cost >= _GIVE_WAY_US:
                    yield cost
                    cost = 0
                if parcel.is_full:
                    schedule.looked_to(record.offset + 1)
                    return
            schedule.looked_to(stretch.next_offset)
            yield _LOOK_COST_US

    def _on_garbage(self, header: BatchHeader, bad: Corrupt) -> None:
        self._node.journal.warning(
            "relay passes over records that nobody can read",
            partition=self.partition.topic_partition,
            first_offset=header.base_offset,
            last_offset=header.last_offset,
            reason=bad,
        )

    def _pass_over(self) -> Steps:
        """Some more of a pass, if one is needed."""
        log, schedule = self.partition.log, self._schedule
        looked_at = 0
        while looked_at < _MOST_SCANNED and not self._is_too_early:
            position = schedule.pass_from(log.log_start_offset, self._node.most_waiting())
            if position is None:
                return
            next_offset = position
            if position < schedule.progress.scanned:
                stretch = read_committed(log, position, _READ_BYTES)
                self._codec, next_offset = stretch.codec, stretch.next_offset
                if next_offset >= log.log_end_offset:
                    # After an unclean election the log may end before what was scanned.
                    next_offset = schedule.progress.scanned
                for record in stretch.records:
                    schedule.look_again(record)
                    looked_at += 1
                    if not looked_at % _LOOKED_AT:
                        yield _LOOKED_AT * _LOOK_COST_US
            if schedule.passed_to(next_offset):
                self._ahead.is_stale()
                return
            yield _LOOK_COST_US

    @property
    def _is_too_early(self) -> bool:
        """Who has just begun to lead does not know yet how much of its log is committed."""
        log = self.partition.log
        return log.last_stable_offset < min(self._schedule.progress.scanned, log.log_end_offset)

    def _look_ahead(self) -> Steps:
        """Some more of a sweep for what is due soon, if it is time."""
        wall = self._clock.wall()
        if self._ahead.is_time(wall):
            yield from self._ahead.begin(self._schedule, wall, self._most_at_hand)
        yield from self._ahead.sweep(self.partition.log, _AHEAD_US)

    def _due(self, parcel: "_Parcel") -> Steps:
        """What is due, in the order of its entries."""
        schedule, ahead = self._schedule, self._ahead
        entries = schedule.due(self._clock.wall(), MOST_RECORDS - len(parcel.sends))
        if not all(entry in ahead for entry in entries):
            yield from ahead.sweep(self.partition.log, _NO_END_US)
            yield from ahead.read(self.partition.log, entries)
        for entry in entries:
            if parcel.is_full or entry not in ahead:
                return
            parcel.add(schedule.leaves(entry, ahead.take(entry)))
            cost = self._cost_us()
            if cost > 2 * _LOOK_COST_US:
                yield cost

    @property
    def _most_at_hand(self) -> int:
        return self._node.most_waiting() * _KEPT_BYTES_AN_ENTRY


def _read(committed: str) -> Progress:
    progress = from_text(committed)
    if progress is None:
        raise NotNow("another version of kafkapy wrote how far it is")
    return progress


class _Parcel:
    """What one transaction sends."""

    def __init__(self) -> None:
        self.sends: list[Sent] = []
        self.size = 0

    @property
    def is_full(self) -> bool:
        return len(self.sends) >= MOST_RECORDS or self.size >= MOST_BYTES

    def add(self, one: Sent | None) -> None:
        if one is not None:
            self.sends.append(one)
            self.size += size_of(one.record)
