"""One call in flight per node, and what is asked meanwhile goes together."""

from collections.abc import Callable

from kafkapy.broker.transactions.batched_calls import BatchedCalls


class Caller:
    def __init__(self) -> None:
        self.made: list[tuple[int, list[str]]] = []
        self.in_flight: list[Callable[[], None]] = []
        self.calls: BatchedCalls[str] = BatchedCalls(self.call)

    def call(self, node: int, items: list[str], done: Callable[[], None]) -> None:
        self.made.append((node, items))
        self.in_flight.append(done)


def test_the_first_goes_at_once_and_the_rest_together_after_it() -> None:
    caller = Caller()
    for item in ("a", "b", "c"):
        caller.calls.add(1, item)
    assert caller.made == [(1, ["a"])]
    caller.in_flight.pop(0)()
    assert caller.made[1:] == [(1, ["b", "c"])]
    caller.in_flight.pop(0)()
    assert len(caller.made) == 2


def test_nodes_do_not_wait_for_one_another() -> None:
    caller = Caller()
    caller.calls.add(1, "a")
    caller.calls.add(2, "b")
    assert caller.made == [(1, ["a"]), (2, ["b"])]


def test_an_answer_may_ask_for_more() -> None:
    caller = Caller()
    caller.calls.add(1, "a")
    done = caller.in_flight.pop(0)
    done()
    caller.calls.add(1, "b")
    assert caller.made[1:] == [(1, ["b"])]
