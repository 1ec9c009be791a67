"""Any history: no task active twice, replay is state, and left alone it converges.

Members join, leave, are silent, lose answers, give tasks up late and start over; the coordinator
fails over; topics grow. What a member was told to run it runs from then on, until it has heard
that it should not and gives it up.
"""

from dataclasses import dataclass
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import ErrorCode
from kafkapy.group.machine import GroupMachine
from kafkapy.group.settings import Bounded
from kafkapy.group.streams.group import StreamsGroup, StreamsGroupState
from kafkapy.group.streams.member import NOTHING, Target, Task
from tests.group.streams.client import StreamsClient, active, info, part, standby, topology
from tests.group.world import GROUP, World

APP = topology(
    part("0", ["orders"], sinks=["again"]),
    part("1", repartitions=[info("again", 2)], changelogs=[info("log")]),
)
START_OVER = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
)


@dataclass
class Runner(StreamsClient):
    """What it is given it runs at once; what it is to give up it runs until `act`."""

    missed: bool = False

    def step(self, *, is_lost: bool = False, says_what_it_has: bool = True) -> None:
        event = self.event()
        # A client says what it has when that changed, and after an answer that it missed.
        if not self.missed and not says_what_it_has and self.epoch != 0:
            event = event._replace(owned=None)
        asked = self.world.ask(event)
        self.missed = asked.is_waiting or is_lost
        if self.missed:
            return
        if asked.error is ErrorCode.NONE:
            self.hear(asked.reply)
            self.has = Target(
                _with(self.has.active, self.told.active), _with(self.has.standby, self.told.standby)
            )
        else:
            assert asked.error in START_OVER, asked.reply
            self.start_over()

    def act(self) -> None:
        self.has = self.told

    def go(self) -> None:
        if self.epoch > 0:
            self.world.ask(self.event(member_epoch=-1, owned=None))
        self.has = NOTHING


class History:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = World(kind=GroupMachine, streams_standby_replicas=Bounded(seed % 3, 0, 2))
        self.world.topics.create("orders", 3)
        self.world.topics.create("again", 2)
        self.world.topics.create("log", 2)
        self.runners: list[Runner] = []

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._step()
            self._check_owners()
        self._check_replay()

    def settle(self) -> None:
        if not self.runners:
            self._join()
        for _ in range(90):
            self.world.clock.advance(1_000)
            for runner in self.runners:
                runner.act()
                runner.step()
            self._check_owners()

    def check_settled(self) -> None:
        group = self._group()
        assert group is not None
        assert group.state() is StreamsGroupState.STABLE
        assert set(group.profiles) == {one.member_id for one in self.runners}
        ran = [task for runner in self.runners for task in active(runner.told)]
        count = self.world.topics.topics["orders"].partition_count
        assert sorted(ran) == [("0", p) for p in range(count)] + [("1", 0), ("1", 1)]
        for process in {runner.process_id for runner in self.runners}:
            own = [one for one in self.runners if one.process_id == process]
            listed = [t for one in own for t in (*active(one.told), *standby(one.told))]
            assert len(listed) == len(set(listed))
        self._check_replay()

    def _step(self) -> None:
        draw = self.random.random()
        some = self.random.choice(self.runners) if self.runners else None
        if some is None or (draw < 0.08 and len(self.runners) < 6):
            self._join()
        elif draw < 0.13:
            some.go()
            self.runners.remove(some)
        elif draw < 0.15:
            # It dies: nobody runs its tasks, and nobody is told.
            self.runners.remove(some)
        elif draw < 0.17:
            self.world.restart()
        elif draw < 0.19:
            there = self.world.topics.topics["orders"].partition_count
            if there < 6:
                self.world.grow("orders", there + 1)
        elif draw < 0.40:
            self.world.clock.advance(self.random.choice((100, 1_000, 3_000, 20_000)))
            self._notice_the_fenced()
        elif draw < 0.55:
            some.act()
        else:
            some.step(
                is_lost=self.random.random() < 0.1,
                says_what_it_has=self.random.random() < 0.8,
            )

    def _join(self) -> None:
        process = f"p{self.random.randrange(4)}"
        self.runners.append(Runner(self.world, process_id=process, topology=APP))

    def _notice_the_fenced(self) -> None:
        """Who was not heard of for its session stops by itself, as a client does."""
        group = self._group()
        for runner in self.runners:
            if runner.epoch and (group is None or runner.member_id not in group.profiles):
                runner.start_over()

    def _group(self) -> StreamsGroup | None:
        found = self.world.state.groups.get(GROUP)
        assert found is None or isinstance(found, StreamsGroup)
        return found

    def _check_owners(self) -> None:
        runs: dict[Task, str] = {}
        for runner in self.runners:
            for task in active(runner.has):
                other = runs.setdefault(task, runner.member_id)
                assert other == runner.member_id, (task, other, runner.member_id)
        group = self._group()
        if group is None:
            return
        for member_id, holding in group.holdings.items():
            for held in (holding.assigned, holding.pending_revocation):
                for task in held.actives():
                    assert group.owners[task] == member_id
            assert holding.epoch <= group.assignment_epoch <= group.epoch

    def _check_replay(self) -> None:
        group, replayed = self._group(), self.world.replayed().groups.get(GROUP)
        assert (group is None) == (replayed is None)
        if group is not None:
            assert isinstance(replayed, StreamsGroup)
            for name in (
                "epoch",
                "profiles",
                "holdings",
                "targets",
                "owners",
                "keepers",
                "topology",
            ):
                assert getattr(replayed, name) == getattr(group, name), name


def _with(some: object, others: object) -> dict[str, frozenset[int]]:
    assert isinstance(some, dict)
    assert isinstance(others, dict)
    return {
        one: some.get(one, frozenset()) | others.get(one, frozenset()) for one in {*some, *others}
    }


@given(st.integers(0, 2**32))
@settings(max_examples=25)
def test_any_history_is_safe_and_ends_well(seed: int) -> None:
    history = History(seed)
    history.run(150)
    history.settle()
    history.check_settled()
