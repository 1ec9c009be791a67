"""Turns of a simulated node: what is ready together is served together."""

import pytest

from kafkapy.core.turn import Turn
from kafkapy.sim.promises.answers import AnswersPromise
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.file import SimFile
from kafkapy.sim.world.journal import Trace
from kafkapy.sim.world.power import IN_A_TURN, Power, PowerCut
from kafkapy.sim.world.reactor import SimReactor
from kafkapy.sim.world.rng import SimRng


class Kit:
    """A reactor, a file on its disk, and a judge of its answers."""

    def __init__(self, seed: int = 1) -> None:
        self.clock = SimClock()
        self.power = Power(SimRng(seed), Trace(self.clock))
        self.disk = SimDisk()
        self.disk.make_directory("/d")
        self.disk.flush_directory("/")
        self.file: SimFile = self.disk.open("/d/log", create=True)
        self.file.flush_now()
        self.reactor = SimReactor(self.clock, SimRng(seed))
        self.disk.turn = self.reactor.turn
        self.disk.on_write = self.power
        self.promise = AnswersPromise(self.disk)
        self.answered: list[bytes] = []
        self.sizes: list[int] = []

    def asks(self, data: bytes) -> None:
        self.reactor.arrives(lambda: self._serve(data))

    def _serve(self, data: bytes) -> None:
        self.sizes.append(len(self.disk.contents("/d/log")))
        self.file.append([data])
        promised = self.promise.answer_is_there()

        def leave() -> None:
            self.promise.answer_leaves(promised, "an append")
            self.power("answer", "", 0)
            self.answered.append(data)

        self.reactor.turn.answer(leave)


@pytest.mark.parametrize("seed", range(20))
def test_what_comes_together_is_served_in_its_order_and_answered_behind_its_write(
    seed: int,
) -> None:
    kit = Kit(seed)
    for number in range(5):
        kit.asks(b"%d" % number)
    kit.clock.advance(10)
    assert kit.answered == [b"0", b"1", b"2", b"3", b"4"]
    assert kit.disk.contents("/d/log") == b"01234"


def test_in_some_turns_nothing_is_written_before_the_last_append() -> None:
    together = 0
    for seed in range(20):
        kit = Kit(seed)
        for number in range(3):
            kit.asks(b"%d" % number)
        kit.clock.advance(10)
        together += kit.sizes == [0, 0, 0]
    assert 5 < together < 20  # and in others, answers leave in the middle


def test_a_process_that_dies_in_a_turn_is_found_at_every_stage_of_it() -> None:
    """Between appends, in front of the write, in the middle of it, and between answers."""
    found = set()
    for seed in range(100):
        for changes in range(9):
            kit = Kit(seed)
            kit.power.cut_after(changes, IN_A_TURN)
            for number in range(3):
                kit.asks(b"%d%d" % (number, number))
            try:
                kit.clock.advance(10)
            except PowerCut:
                kit.disk.kill()
                found.add((len(kit.sizes), kit.disk.contents("/d/log"), len(kit.answered)))
    served = {(count, b"", 0) for count in (1, 2, 3)}
    torn = {(3, b"001122"[:size], 0) for size in range(7)}
    answered = {(3, b"001122", count) for count in (1, 2)}
    assert found >= served | torn | answered
    for _, there, answers in found:
        assert there[: 2 * answers] == b"001122"[: 2 * answers]


def test_who_answers_before_the_write_is_caught() -> None:
    kit = Kit()
    kit.reactor.turn.begin()
    promised = kit.promise.answer_is_there()
    kit.promise.answer_leaves(promised, "nothing")
    kit.file.append([b"1"])
    promised = kit.promise.answer_is_there()
    with pytest.raises(BrokenPromise, match="before what was appended is written"):
        kit.promise.answer_leaves(promised, "an append")
    kit.reactor.turn.write_and_answer()
    kit.promise.answer_leaves(promised, "an append")


def test_who_answers_though_the_write_failed_is_caught() -> None:
    kit = Kit()
    turn: Turn = kit.reactor.turn
    turn.failed = lambda _: kit.promise.losses_are_known()
    kit.disk.fail("append")
    turn.begin()
    kit.file.append([b"1"])
    promised = kit.promise.answer_is_there()
    turn.end()
    with pytest.raises(BrokenPromise, match="is lost"):
        kit.promise.answer_leaves(promised, "an append")
    kit.promise.answer_leaves(kit.promise.answer_is_there(), "a refusal")
