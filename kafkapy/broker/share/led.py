"""The share partitions that this node leads, because it leads their partitions.

    wanted --> loading: ReadState under the leader epoch --> loaded --> acquire, acknowledge ...
                     |-- not at the earliest, and nothing read yet: where it begins is written
                     |   first, or the next leader would begin behind what came meanwhile
                     |-- refused: whoever waits is told, and the next one asks again
                     '-- dead letters that an earlier leader did not get done with
    leadership lost, fenced by the coordinator --> dropped: whoever waits is told

What a share partition decides (share/partition.py) is brought about here: its changes are
written by the share coordinator, its locks have a timer, and fetches that wait for records hear
when there are some again.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.share.dead_letters import DeadLetters
from kafkapy.broker.share.settings import EARLIEST, LATEST, ShareSettings
from kafkapy.broker.share.states import ShareStates
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Callback, Clock, Timer
from kafkapy.core.time import NEVER, Instant
from kafkapy.share.coordinator.events import (
    NOTHING_READ,
    ReadState,
    ReadSummary,
    StateRead,
    SummaryRead,
    WriteState,
)
from kafkapy.share.coordinator.state import ShareKey
from kafkapy.share.partition import Acknowledgement, SharePartition
from kafkapy.share.states import StateBatch
from kafkapy.share.window import Change

Loaded = Callable[["LedShare | Refused"], None]
Written = Callable[[Refused | None], None]

# What the coordinator says of a state that this node no longer has any business with.
_FENCED: Final = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    }
)
_TOLD: Final = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.INVALID_REQUEST: ErrorCode.INVALID_REQUEST,
}


def told(refused: Refused) -> Refused:
    """The coordinator's words, for a client that knows nothing of it."""
    return Refused(_TOLD.get(refused.code, ErrorCode.UNKNOWN_SERVER_ERROR), refused.message)


class LedShare:
    """One share partition, loaded."""

    def __init__(
        self,
        owner: "LedShares",
        key: ShareKey,
        partition: Partition,
        state_epoch: int,
        machine: SharePartition,
        written_start: int,
    ) -> None:
        self.key = key
        self.partition = partition
        self.machine = machine
        self.leader_epoch = partition.leader_epoch
        self.state_epoch = state_epoch
        # Fetches that wait until something is available.
        self.waiting: dict[Any, Callback] = {}
        # The timestamp of the record that is next, by its offset (priorities.py).
        self.next_up: tuple[int, int] | None = None
        # Nobody of the group reads here any more: it may be altered elsewhere.
        self.is_unwanted = False
        # Writes, and dead letters: what there still is to say.
        self._under_way = 0
        self._owner = owner
        # The coordinator has this one, or a later one.
        self._written_start = written_start
        self._timer: Timer | None = None
        self._timer_at = NEVER

    def acknowledge(self, member_id: str, given: Sequence[Acknowledgement], then: Written) -> None:
        """`then(None)` once it is so for good."""
        machine = self.machine
        machine.limits = self._owner.settings.limits(self.key.group_id)
        try:
            change = machine.acknowledge(member_id, given, self._owner.clock.now())
        except Refused as refused:
            then(refused)
            return
        self._carry_out(change, then)

    def release(self, member_id: str) -> None:
        """Whoever had it is gone."""
        self.machine.limits = self._owner.settings.limits(self.key.group_id)
        self._carry_out(self.machine.release(member_id), _nobody)

    def bury_the_dead(self) -> None:
        """What became dead letters goes to their topic, and is over then."""
        for letter, change in self.machine.dead_letters():
            self._under_way += 1
            self._owner.dead_letters.bury(
                self.key.group_id,
                self.partition,
                letter,
                lambda: self._owner.is_led(self),
                partial(self._buried, change),
            )

    def _buried(self, change: Change) -> None:
        self._under_way -= 1
        if self._owner.is_led(self):
            self._write(self.machine.buried(change), _nobody)
            self.wake()

    def acquired(self) -> None:
        """Something was: its lock will end."""
        self._arm()

    def check_is_current(self) -> None:
        """Who begins to read asks: the group may have been altered, or deleted and made anew
        (then its epochs begin anew as well), while somebody who is no member kept a session."""
        known = self._written_start

        def answered(reply: Any) -> None:
            if isinstance(reply, SummaryRead) and (
                reply.state_epoch != self.state_epoch
                or reply.leader_epoch != self.leader_epoch
                or reply.start_offset < known
            ):
                self._owner.drop(self)

        self._owner.states.ask(ReadSummary(self.key, self.leader_epoch), answered)

    def drop_if_unwanted(self) -> None:
        """Once the coordinator has all that there is to say."""
        if self.is_unwanted and not self._under_way:
            self._owner.drop(self)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.wake()

    def wake(self) -> None:
        for then in tuple(self.waiting.values()):
            then()

    def _carry_out(self, change: Change | None, then: Written) -> None:
        self._arm()
        if change is None:
            then(None)
            return

        def answered(refused: Refused | None) -> None:
            if refused is None:
                self.machine.changed(change)
            else:
                self.machine.failed(change)
                self._expire()  # what ended meanwhile
            then(refused)
            self.bury_the_dead()
            self.wake()

        self._write(self.machine.batches(change), answered)

    def _write(self, batches: tuple[StateBatch, ...], then: Written) -> None:
        def answered(reply: Any) -> None:
            self._under_way -= 1
            if isinstance(reply, Refused):
                if reply.code in _FENCED:
                    self._owner.drop(self)
                then(told(reply))
            else:
                self._written_start = max(self._written_start, start)
                then(None)
            self.drop_if_unwanted()

        self._under_way += 1
        start = self.machine.start_offset
        event = WriteState(
            self.key,
            self.state_epoch,
            self.leader_epoch,
            start,
            batches,
            self.machine.delivery_complete_count,
        )
        self._owner.states.ask(event, answered)

    # Locks

    def _arm(self) -> None:
        at = self.machine.next_expiry
        if at == self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = at
        if at != NEVER and self._owner.is_led(self):
            self._timer = self._owner.clock.call_at(at, self._time_is_up)

    def _time_is_up(self) -> None:
        self._timer, self._timer_at = None, NEVER
        self._expire()

    def _expire(self) -> None:
        self.machine.limits = self._owner.settings.limits(self.key.group_id)
        batches = self.machine.expire(self._owner.clock.now())
        self._arm()
        if batches:
            # Available it is in any case: nobody may wait for a coordinator that is away.
            self._write(batches, _nobody)
            self.bury_the_dead()
            self.wake()


class LedShares:
    def __init__(
        self,
        *,
        clock: Clock,
        states: ShareStates,
        dead_letters: DeadLetters,
        settings: Callable[[], ShareSettings],
    ) -> None:
        self.clock = clock
        self.states = states
        self.dead_letters = dead_letters
        self._current_settings = settings
        self._led: dict[ShareKey, LedShare] = {}
        self._loading: dict[ShareKey, list[Loaded]] = {}
        # Of these, what nobody waits for any more.
        self._forgotten: set[ShareKey] = set()

    @property
    def settings(self) -> ShareSettings:
        return self._current_settings()

    def get(self, key: ShareKey) -> LedShare | None:
        return self._led.get(key)

    def is_led(self, share: LedShare) -> bool:
        return self._led.get(share.key) is share

    def load(self, key: ShareKey, partition: Partition, then: Loaded) -> None:
        """`then`, at once if it is there. `partition`: led by this node."""
        led = self._led.get(key)
        if led is not None and led.leader_epoch == partition.leader_epoch:
            led.is_unwanted = False
            then(led)
            return
        waiting = self._loading.get(key)
        if waiting is not None:
            waiting.append(then)
            self._forgotten.discard(key)
            return
        self._loading[key] = [then]
        leader_epoch = partition.leader_epoch
        self.states.ask(
            ReadState(key, leader_epoch),
            lambda reply: self._read(key, partition, leader_epoch, reply),
        )

    def _read(self, key: ShareKey, partition: Partition, leader_epoch: int, reply: Any) -> None:
        if isinstance(reply, Refused):
            self._loaded(key, told(reply))
            return
        assert isinstance(reply, StateRead), reply
        if not _is_leader(partition, leader_epoch):
            self._loaded(key, Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        elif reply.start_offset != NOTHING_READ:
            self._loaded(key, self._made(key, partition, reply, reply.start_offset))
        else:
            begun = reply._replace(start_offset=self._begin(key.group_id, partition))
            if self.settings.reset(key.group_id) == EARLIEST:
                self._loaded(key, self._made(key, partition, begun, NOTHING_READ))
            else:
                self._write_begun(key, partition, leader_epoch, begun)

    def _write_begun(
        self, key: ShareKey, partition: Partition, leader_epoch: int, begun: StateRead
    ) -> None:
        def answered(reply: Any) -> None:
            if isinstance(reply, Refused):
                self._loaded(key, told(reply))
            elif not _is_leader(partition, leader_epoch):
                self._loaded(key, Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER))
            else:
                self._loaded(key, self._made(key, partition, begun, begun.start_offset))

        event = WriteState(key, begun.state_epoch, leader_epoch, begun.start_offset, (), 0)
        self.states.ask(event, answered)

    def _made(
        self, key: ShareKey, partition: Partition, read: StateRead, written_start: int
    ) -> LedShare:
        limits = self.settings.limits(key.group_id)
        machine = SharePartition(read.start_offset, read.batches, limits=limits)
        found = LedShare(self, key, partition, read.state_epoch, machine, written_start)
        self._led[key] = found
        found.bury_the_dead()
        return found

    def _loaded(self, key: ShareKey, found: LedShare | Refused) -> None:
        for then in self._loading.pop(key):
            then(found)
        if key in self._forgotten:
            self._forgotten.discard(key)
            if isinstance(found, LedShare):
                found.is_unwanted = True
                found.drop_if_unwanted()

    def _begin(self, group_id: str, partition: Partition) -> int:
        """Where a group that has read nothing yet begins (share.auto.offset.reset)."""
        log = partition.log
        reset = self.settings.reset(group_id)
        if reset == EARLIEST:
            return log.log_start_offset
        if reset != LATEST:
            assert isinstance(reset, int), reset
            found = log.offset_for_timestamp(Instant(self.clock.wall() - reset))
            if found is not None:
                return min(found.offset, log.high_watermark)
        return log.high_watermark

    def drop(self, share: LedShare) -> None:
        """Another one has it, or it is another one."""
        if self.is_led(share):
            del self._led[share.key]
            share.close()

    def leadership_changed(self, partition: Partition, is_leader: bool) -> None:
        for share in [one for one in self._led.values() if one.partition is partition]:
            if not is_leader or share.leader_epoch != partition.leader_epoch:
                self.drop(share)

    def release(self, member_id: str, keys: Sequence[ShareKey]) -> None:
        for key in keys:
            share = self._led.get(key)
            if share is not None:
                share.release(member_id)

    def forget_group(self, group_id: str) -> None:
        """Its last session here is over. What it left may be altered before it comes again."""
        self._forgotten.update(key for key in self._loading if key.group_id == group_id)
        for share in [one for one in self._led.values() if one.key.group_id == group_id]:
            share.is_unwanted = True
            share.drop_if_unwanted()

    def close(self) -> None:
        for share in list(self._led.values()):
            self.drop(share)


def _is_leader(partition: Partition, leader_epoch: int) -> bool:
    return partition.is_leader and partition.leader_epoch == leader_epoch


def _nobody(_: Refused | None) -> None:
    """Nobody is told."""
