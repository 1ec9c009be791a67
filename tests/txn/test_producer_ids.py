"""Producer ids: each once, from blocks that are fetched ahead."""

from collections.abc import Callable

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.txn.producer_ids import Block, BlockProducerIds

Answer = Callable[[Block | Refused], None]


class Controller:
    """Answers when told to."""

    def __init__(self) -> None:
        self.asked: list[Answer] = []
        self._next = 0

    def allocate(self, then: Answer) -> None:
        self.asked.append(then)

    def answer(self, size: int = 10) -> None:
        start, self._next = self._next, self._next + size
        self.asked.pop(0)(range(start, start + size))


def test_whoever_asks_first_waits_for_the_first_block() -> None:
    controller = Controller()
    ids = BlockProducerIds(controller.allocate)
    got: list[int | Refused] = []
    ids.next(got.append)
    ids.next(got.append)
    assert (got, len(controller.asked)) == ([], 1)
    controller.answer()
    assert got == [0, 1]


def test_the_next_block_is_fetched_before_this_one_is_used_up() -> None:
    controller = Controller()
    ids = BlockProducerIds(controller.allocate)
    got: list[int | Refused] = []
    ids.next(got.append)
    controller.answer()
    for _ in range(7):
        ids.next(got.append)
    assert controller.asked == []
    ids.next(got.append)
    assert len(controller.asked) == 1
    controller.answer()
    for _ in range(11):
        ids.next(got.append)
    assert got == list(range(20))


def test_a_refused_block_refuses_those_who_wait_and_the_next_one_asks_again() -> None:
    controller = Controller()
    ids = BlockProducerIds(controller.allocate)
    got: list[int | Refused] = []
    ids.next(got.append)
    controller.asked.pop()(Refused(ErrorCode.NOT_CONTROLLER))
    (refused,) = got
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    ids.next(got.append)
    controller.answer()
    assert got[1:] == [0]


def test_asking_from_within_an_answer_gives_another_id() -> None:
    controller = Controller()
    ids = BlockProducerIds(controller.allocate)
    got: list[int | Refused] = []

    def again(first: int | Refused) -> None:
        got.append(first)
        ids.next(got.append)

    ids.next(again)
    controller.answer(size=2)
    assert got == [0, 1]
