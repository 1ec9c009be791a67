"""The whole controller through random lives, beside a dumb twin.

After every step: what was decided changed nothing by itself; replaying the log gives the
same image; partitions keep their invariants; and names, sizes and settings are those that
a few dictionaries remember. Leadership is lost now and then, with what was not committed.
"""

from contextlib import suppress
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kafkapy.core.errors import Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.controller.configs import Alteration, AlterConfigs, Operation
from kafkapy.kraft.controller.machine import Event
from kafkapy.kraft.controller.partitions import sweeps
from kafkapy.kraft.controller.partitions.elections import (
    BalanceLeaders,
    ElectLeaders,
    ElectUncleanly,
)
from kafkapy.kraft.controller.partitions.isr import AlterPartition, NewIsr
from kafkapy.kraft.controller.partitions.reassignments import AlterReassignments, Reassignment
from kafkapy.kraft.controller.topics.changes import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    MorePartitions,
    NewTopic,
    TopicCreated,
)
from kafkapy.kraft.image.image import MetadataImage
from tests.kraft.controller.fakes import Cluster
from tests.kraft.controller.partitions.test_index import check

BROKERS = st.integers(1, 4)
NAMES = st.sampled_from(["a", "b", "c", "x.y", "x_y"])


def _same(one: MetadataImage, other: MetadataImage) -> bool:
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("topics_by_id", "topics_by_name", "brokers", "all_configs", "features")
    )


class ControllerLife(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(brokers=4)
        self.sizes: dict[str, int] = {}
        self.configs: dict[str, dict[str, str]] = {}

    def ask(self, event: Event) -> Any:
        """Decide twice: the first time for nothing, to see that nothing comes of it."""
        controller = self.cluster.controller
        before = controller.image.copy()
        machine = controller._machine
        assert machine is not None, "leads"
        with suppress(Refused):
            machine.decide(event, self.cluster.clock.now(), self.cluster.clock.wall())
        assert _same(controller.image, before), "decide wrote"
        outcomes: list[Any] = []
        controller.submit(event, outcomes.append)
        self.cluster.clock.advance(0)  # work that goes in slices
        assert len(outcomes) == 1, outcomes
        return outcomes[0]

    # -- topics ------------------------------------------------------------------------

    @rule(name=NAMES, partitions=st.integers(0, 3), factor=st.integers(0, 5))
    def create(self, name: str, partitions: int, factor: int) -> None:
        verdict = self.ask(CreateTopics((NewTopic(name, partitions, factor),)))[name]
        if isinstance(verdict, TopicCreated):
            assert name not in self.sizes
            self.sizes[name] = partitions
        else:
            collides = name not in "abc" and bool({"x.y", "x_y"} & set(self.sizes))
            brokers = self.cluster.image.brokers.values()
            usable = [one for one in brokers if one.fenced or not one.in_controlled_shutdown]
            too_few = factor > len(usable) or not self._active()
            assert name in self.sizes or collides or 0 in (partitions, factor) or too_few

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        topic = self.cluster.image.topics_by_name.get(name)
        assert (topic is not None) == (name in self.sizes)
        if topic is not None:
            assert self.ask(DeleteTopics((topic.id,))) == {topic.id: None}
            del self.sizes[name]
            self.configs.pop(name, None)

    @rule(name=NAMES, count=st.integers(0, 5))
    def extend(self, name: str, count: int) -> None:
        refused = self.ask(CreatePartitions((MorePartitions(name, count),)))[name]
        if refused is None:
            assert count > self.sizes[name]
            self.sizes[name] = count

    @rule(name=NAMES, key=st.sampled_from("pq"), value=st.sampled_from([None, "1", "2"]))
    def configure(self, name: str, key: str, value: str | None) -> None:
        operation = Operation.DELETE if value is None else Operation.SET
        change = AlterConfigs((((2, name), (Alteration(key, operation, value),)),))
        refused = self.ask(change)[2, name]
        assert (refused is None) == (name in self.sizes)
        if refused is None:
            mine = self.configs.setdefault(name, {})
            mine.pop(key, None)
            if value is not None:
                mine[key] = value

    # -- brokers -----------------------------------------------------------------------

    @rule(broker=BROKERS)
    def fence(self, broker: int) -> None:
        self.ask(self.cluster.heartbeat(broker, wants_fence=True))

    @rule(broker=BROKERS)
    def unfence(self, broker: int) -> None:
        self.ask(self.cluster.heartbeat(broker))

    @rule(broker=BROKERS)
    def leave(self, broker: int) -> None:
        self.ask(self.cluster.heartbeat(broker, wants_shutdown=True))

    @rule(broker=BROKERS, was_clean=st.booleans())
    def restart(self, broker: int, was_clean: bool) -> None:
        previous = self.cluster.image.brokers[broker].epoch if was_clean else -1
        self.ask(self.cluster.registration(broker, previous_epoch=previous))

    @rule(by_ms=st.integers(1, 12_000))
    def wait(self, by_ms: int) -> None:
        self.cluster.clock.advance(by_ms)

    # -- partitions --------------------------------------------------------------------

    @rule(data=st.data())
    @precondition(lambda self: self.sizes)
    def alter_isr(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.sizes)))
        topic = self.cluster.image.topics_by_name[name]
        state = topic.partitions[0]
        if not state.has_leader:
            return
        active = [one for one in state.replicas if self.cluster.image.brokers[one].is_active]
        others = data.draw(st.sets(st.sampled_from(active))) if active else set()
        isr = tuple((one, -1) for one in sorted({state.leader, *others}))
        wanted = NewIsr(topic.id, 0, state.leader_epoch, state.partition_epoch, isr)
        epoch = self.cluster.image.brokers[state.leader].epoch
        self.ask(AlterPartition(state.leader, epoch, (wanted,)))

    @rule(data=st.data(), replicas=st.lists(BROKERS, max_size=3))
    @precondition(lambda self: self.sizes)
    def move(self, data: st.DataObject, replicas: list[int]) -> None:
        where = TopicPartition(data.draw(st.sampled_from(sorted(self.sizes))), 0)
        self.ask(AlterReassignments((Reassignment(where, tuple(replicas) or None),)))

    @rule(is_unclean=st.booleans())
    def elect(self, is_unclean: bool) -> None:
        self.ask(ElectLeaders(None, is_unclean))

    @rule(event=st.sampled_from([BalanceLeaders(), ElectUncleanly()]))
    def periodic(self, event: BalanceLeaders | ElectUncleanly) -> None:
        self.ask(event)

    # -- terms -------------------------------------------------------------------------

    @rule(name=NAMES)
    def lose_leadership(self, name: str) -> None:
        """Something is appended, never committed, and forgotten by the next leader."""
        log = self.cluster.log
        log.holds_back = True
        answers: list[Any] = []
        event = CreateTopics((NewTopic(name, 1, 1),))
        self.cluster.controller.submit(event, answers.append)
        log.fail()
        self.cluster.controller.resign()
        del log.records[log.committed :]
        log.holds_back = False
        assert len(answers) == 1
        self.cluster.controller.lead(log.image(), ())

    # -- what must always hold ---------------------------------------------------------

    def _active(self) -> list[int]:
        return [one.id for one in self.cluster.image.brokers.values() if one.is_active]

    @invariant()
    def the_twin_agrees(self) -> None:
        image = self.cluster.image
        sizes = {name: len(topic.partitions) for name, topic in image.topics_by_name.items()}
        assert sizes == self.sizes
        for name in self.sizes:
            assert image.configs(2, name) == self.configs.get(name, {})

    @invariant()
    def replaying_gives_the_same(self) -> None:
        assert _same(self.cluster.log.image(), self.cluster.image)

    @invariant()
    def the_index_says_what_there_is(self) -> None:
        machine = self.cluster.controller._machine
        assert machine is not None, "leads"
        check(machine.state.index, self.cluster.image)

    @invariant()
    def partitions_are_sound(self) -> None:
        active = set(self._active())
        for where, state in self.cluster.image.partitions():
            assert len(set(state.replicas)) == len(state.replicas) == len(state.directories)
            assert set(state.isr) <= set(state.replicas), (where, state)
            assert not set(state.isr) & set(state.elr), (where, state)
            assert set(state.isr) <= active, (where, state)
            if state.has_leader:
                assert state.leader in state.isr, (where, state)
            assert set(state.adding_replicas) <= set(state.replicas), (where, state)
            assert set(state.removing_replicas) <= set(state.replicas), (where, state)


class InSlices(ControllerLife):
    """The same life where two partitions are many."""

    def __init__(self) -> None:
        super().__init__()
        self._usual, sweeps.SLICE = sweeps.SLICE, 1  # type: ignore[misc]  # Final, for others

    def teardown(self) -> None:
        sweeps.SLICE = self._usual  # type: ignore[misc]  # as above
        super().teardown()


TestControllerLife = ControllerLife.TestCase
TestControllerLife.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestControllerLifeInSlices = InSlices.TestCase
TestControllerLifeInSlices.settings = TestControllerLife.settings
