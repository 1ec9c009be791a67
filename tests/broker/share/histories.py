"""Random histories of a share partition: its leaders, the share coordinator, and what is between.

    Leader (broker/share/led.py) --writes--> post: late, in any order, twice, lost, answer lost
                                                |
                                      ShareMachine, loaded again from what it wrote at any point

A leader that was replaced does not know it at first and goes on. What must hold:

what was accepted, and was answered so, is never anybody's again, and nobody else's answer is good
nothing is over that nobody said to be, unless it came too often
no record is in two hands at one leader; no more deliveries than were made, nor than there may be
the written start never goes back; its batches lie in order behind it
left alone, everything is accepted and the start is at the end
"""

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from kafkapy.broker.share.led import LedShare, LedShares
from kafkapy.coordinator.registry import Registry
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.share.coordinator.events import (
    InitializeState,
    SetMark,
    SnapshotTheRest,
    WriteState,
)
from kafkapy.share.coordinator.machine import ShareMachine
from kafkapy.share.coordinator.records import KEY_CLASSES
from kafkapy.share.coordinator.state import ShareKey
from kafkapy.share.partition import Acknowledgement, Asked, ShareLimits, Span
from tests.coordinator.fakes import FakeClock

KEY = ShareKey("g", UUID(int=7), 0)
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
LIMITS = ShareLimits(delivery_count_limit=4, record_lock_duration_ms=1_000, max_record_locks=30)
EXISTS = SimpleNamespace(exists=lambda *_: True)
MEMBERS = ("a", "b", "c")


class Coordinator:
    """The share coordinator's machine, and the log that it is loaded from."""

    def __init__(self) -> None:
        self.codec: Registry = Registry(KEY_CLASSES, lambda _: 0)
        self.log: list[Any] = []
        self.machine = self._empty()
        # What leaders ever said to be over, and had written.
        self.over: set[int] = set()
        self.decide(InitializeState(KEY, 1, 0))

    def _empty(self) -> ShareMachine:
        return ShareMachine(lambda: EXISTS, lambda: 3)

    def decide(self, event: Any) -> Any:
        try:
            step = self.machine.decide(event, Instant(0), Instant(0))
        except Refused as refused:
            return refused
        for record in step.records:
            self.log.append(self.codec.encode(record))
            self.machine.apply(record)
        for note in step.notes:
            self.machine.apply(note)
        for batch in event.batches if isinstance(event, WriteState) else ():
            if batch.state.is_terminal:
                self.over.update(range(batch.first_offset, batch.last_offset + 1))
        return step.reply

    def load_again(self) -> None:
        before = self.machine.states
        self.machine = self._empty()
        for written in self.log:
            self.machine.apply(self.codec.decode(*written))
        assert self.machine.states == before, "replay gives the same state"

    def prune(self) -> None:
        self.decide(SetMark())
        mark = len(self.log)
        self.decide(SnapshotTheRest(10))
        del self.log[:mark]


class Node:
    """A leader, under one epoch."""

    def __init__(self, history: "History", epoch: int) -> None:
        self.history = history
        self.partition: Any = SimpleNamespace(is_leader=True, leader_epoch=epoch)
        self.found: list[LedShare | Refused] = []
        parts: dict[str, Any] = {
            "clock": history.clock,
            "states": SimpleNamespace(ask=self.ask),
            "dead_letters": None,
            "settings": lambda: SimpleNamespace(limits=lambda _: LIMITS),
        }
        self.led = LedShares(**parts)

    def ask(self, event: Any, then: Callable[[Any], None]) -> None:
        self.history.post.append((event, then))

    def load(self) -> None:
        self.led.load(KEY, self.partition, self.found.append)

    @property
    def share(self) -> LedShare | None:
        return self.led.get(KEY)

    def step_down(self) -> None:
        self.partition.is_leader = False
        self.led.leadership_changed(self.partition, is_leader=False)


class History:
    """One history, all of it from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.clock = FakeClock()
        self.post: list[tuple[Any, Callable[[Any], None]]] = []
        self.coordinator = Coordinator()
        self.end = self.chance.randint(10, 60)
        self.accepted: dict[int, int] = {}
        self.deliveries: dict[int, int] = {}
        self.written_start = 0
        self.epoch = 0
        self.zombie: Node | None = None
        self.node = Node(self, 0)
        self.node.load()

    def run(self, steps: int) -> None:
        moves = (
            (self.somebody_takes, 40),
            (self.somebody_acknowledges, 40),
            (self.post_arrives, 60),
            (self.post_fails, 6),
            (self.somebody_goes, 4),
            (self.time_passes, 10),
            (self.another_leads, 2),
            (self.the_last_leader_hears_of_it, 2),
            (self.coordinator.load_again, 2),
            (self.coordinator.prune, 1),
        )
        for _ in range(steps):
            (move,) = self.chance.choices(
                [move for move, _ in moves], [weight for _, weight in moves]
            )
            move()
            self.check()

    def _a_node(self) -> Node:
        is_zombies = self.zombie is not None and self.chance.random() < 0.3
        return self.zombie if is_zombies and self.zombie is not None else self.node

    def somebody_takes(self) -> None:
        self.take(self._a_node(), self.chance.choice(MEMBERS), self.chance.randint(1, 9))

    def take(self, node: Node, member: str, most: int, *, size: int = 4) -> list[int]:
        """A log of batches of four."""
        share = node.share
        if share is None:
            node.load()
            return []
        machine = share.machine
        offset = machine.fetch_offset
        if offset is None or offset >= self.end:
            return []
        first = offset - offset % size
        spans = [Span(at, min(at + size, self.end) - 1) for at in range(first, self.end, size)][:3]
        mode = self.chance.choice((0, 1))
        taken = {
            at
            for run in machine.window
            if not run.is_available
            for at in range(run.first, run.last + 1)
        }
        acquired = machine.acquire(
            Asked(member, most, mode), offset, spans, spans[-1].last + 1, self.clock.now()
        )
        if acquired:
            share.acquired()
        took = []
        for one in acquired:
            for at in range(one.first_offset, one.last_offset + 1):
                took.append(at)
                epoch = node.partition.leader_epoch
                assert self.accepted.get(at, epoch + 1) > epoch, ("accepted, and comes again", at)
                assert at not in taken, ("in two hands", at)
                self.deliveries[at] = self.deliveries.get(at, 0) + 1
                assert one.delivery_count <= min(self.deliveries[at], LIMITS.delivery_count_limit)
        return took

    def somebody_acknowledges(self) -> None:
        node = self._a_node()
        share = node.share
        if share is None:
            return
        held = [run for run in share.machine.window if run.member_id and run.change is None]
        if not held:
            return
        run = self.chance.choice(held)
        first = self.chance.randint(run.first, run.last)
        last = self.chance.randint(first, run.last)
        one_for_all = self.chance.random() < 0.5
        kinds = [ACCEPT, ACCEPT, ACCEPT, RELEASE, REJECT, RENEW]
        count = 1 if one_for_all else last - first + 1
        types = tuple(self.chance.choice(kinds) for _ in range(count))
        self.acknowledge(node, run.member_id, first, last, types)

    def acknowledge(
        self, node: Node, member: str, first: int, last: int, types: tuple[int, ...]
    ) -> None:
        share = node.share
        assert share is not None
        by_offset = types if len(types) > 1 else types * (last - first + 1)
        told: list[Refused | None] = []

        def then(refused: Refused | None) -> None:
            told.append(refused)
            assert len(told) == 1, "answered twice"
            if refused is not None:
                return
            for at, kind in enumerate(by_offset, first):
                if kind != RENEW:
                    assert at not in self.accepted, ("answered well after it was accepted", at)
                if kind == ACCEPT:
                    self.accepted[at] = node.partition.leader_epoch

        share.acknowledge(member, [Acknowledgement(first, last, types)], then)

    def somebody_goes(self) -> None:
        node = self._a_node()
        node.led.release(self.chance.choice(MEMBERS), [KEY])

    # The way to the share coordinator

    def post_arrives(self) -> None:
        if self.post:
            at = self.chance.randrange(len(self.post)) if self.chance.random() < 0.2 else 0
            event, then = self.post.pop(at)
            then(self.coordinator.decide(event))

    def post_fails(self) -> None:
        """It, or its answer, is lost, until nobody asks any more; perhaps it comes twice."""
        if not self.post:
            return
        event, then = self.post.pop(self.chance.randrange(len(self.post)))
        if self.chance.random() < 0.6:
            self.coordinator.decide(event)
        if self.chance.random() < 0.4:
            then(self.coordinator.decide(event))
        else:
            then(Refused(ErrorCode.NETWORK_EXCEPTION))

    def time_passes(self) -> None:
        self.clock.advance(self.chance.choice([10, 300, 1_100]))

    def another_leads(self) -> None:
        """And the one before does not know it yet."""
        if self.zombie is None:
            self.zombie = self.node
            self.epoch += 1
            self.node = Node(self, self.epoch)
            self.node.load()

    def the_last_leader_hears_of_it(self) -> None:
        if self.zombie is not None:
            self.zombie.step_down()
            self.zombie = None

    # What holds

    def check(self) -> None:
        state = self.coordinator.machine.states[KEY]
        assert state.start_offset >= self.written_start, "the start went back"
        self.written_start = state.start_offset
        assert self.written_start <= self.end
        at = state.start_offset
        for batch in state.batches:
            assert at <= batch.first_offset <= batch.last_offset < self.end
            at = batch.last_offset + 1
        over = {
            offset
            for batch in state.batches
            if batch.state.is_terminal
            for offset in range(batch.first_offset, batch.last_offset + 1)
        }
        for offset in self.accepted:
            assert offset < state.start_offset or offset in over, ("lost", offset)
        for offset in range(state.start_offset):
            came_too_often = self.deliveries[offset] >= LIMITS.delivery_count_limit
            assert came_too_often or offset in self.coordinator.over, ("nobody had it", offset)
        share = self.node.share
        if share is not None:
            assert len(share.machine.window) <= 2 * LIMITS.max_record_locks + 10
            assert self.clock.pending <= 2, "timers of nothing"

    # Left alone

    def settle(self) -> None:
        self.the_last_leader_hears_of_it()
        for _ in range(40 + 8 * self.end):
            while self.post:
                event, then = self.post.pop(0)
                then(self.coordinator.decide(event))
            took = self.take(self.node, "last", 5)
            for at in took:
                self.acknowledge(self.node, "last", at, at, (ACCEPT,))
            if not took and not self.post:
                self.clock.advance(LIMITS.record_lock_duration_ms)
            self.check()
        share = self.node.share
        assert share is not None
        assert share.machine.start_offset == share.machine.end_offset == self.end
        assert self.clock.pending == 0
