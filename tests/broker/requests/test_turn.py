"""What waits for the end of a turn of the loop, and what need not."""

from kafkapy.broker.requests.turn import Turn


def test_outside_of_a_turn_nothing_waits() -> None:
    done: list[str] = []
    turn = Turn()
    turn.at_end(lambda: done.append("before any"))
    turn.begin()
    turn.end()
    turn.at_end(lambda: done.append("after one"))
    assert done == ["before any", "after one"]


def test_within_a_turn_it_waits_for_the_end_and_keeps_its_order() -> None:
    done: list[int] = []
    turn = Turn()
    turn.begin()
    turn.at_end(lambda: done.append(1))
    turn.at_end(lambda: done.append(2))
    assert done == []
    turn.end()
    assert done == [1, 2]


def test_what_the_end_itself_asks_for_is_done_at_once() -> None:
    done: list[str] = []
    turn = Turn()
    turn.begin()

    def asks() -> None:
        turn.at_end(lambda: done.append("asked"))
        done.append("asker")

    turn.at_end(asks)
    turn.end()
    assert done == ["asked", "asker"]
