"""In a turn: appends, then one write, then the answers. A disk's part is in the conformance
suite of disks (tests/sim/world/disk_conformance.py)."""

from collections.abc import Callable

import pytest

from kafkapy.core.errors import DiskFailed
from kafkapy.core.turn import SMALL_BYTES, Turn


class Kit:
    """A turn under way, files that note what they write, answers that note when they leave."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.turn = Turn()
        self.turn.failed = lambda failure: self.log.append(f"failed {failure.path}")
        self.a, self.b = File(self, "a"), File(self, "b")
        self.turn.begin()

    def answer(self, what: str) -> None:
        self.turn.answer(lambda: self.log.append(f"answer {what}"))


class File:
    def __init__(self, kit: Kit, name: str) -> None:
        self._kit = kit
        self._name = name
        self.fails = False

    def append(self, data: bytes) -> None:
        if self._kit.turn.takes(self, len(data)):
            self._kit.turn.keep(self, data)
        else:
            self._note(data)

    def write_kept(self) -> None:
        data = self._kit.turn.take()
        if self.fails:
            failure = DiskFailed(self._name, "No space left on device")
            self._kit.turn.lost(failure)
            raise failure
        self._note(data)

    def _note(self, data: bytes) -> None:
        self._kit.log.append(f"write {self._name} {data[:9].decode()}")


@pytest.fixture
def kit() -> Kit:
    return Kit()


def test_appends_then_one_write_then_the_answers(kit: Kit) -> None:
    for client in "123":
        kit.a.append(client.encode())
        kit.answer(client)
    assert kit.log == []
    kit.turn.end()
    assert kit.log == ["write a 123", "answer 1", "answer 2", "answer 3"]


def test_what_the_end_of_the_turn_answers_has_a_write_of_its_own(kit: Kit) -> None:
    def parked() -> None:
        kit.a.append(b"2")
        kit.answer("2")

    kit.a.append(b"1")
    kit.answer("1")
    kit.turn.at_end(parked)
    kit.turn.end()
    assert kit.log == ["write a 1", "answer 1", "write a 2", "answer 2"]


def test_what_comes_of_an_answer_has_a_write_of_its_own(kit: Kit) -> None:
    """A connection that turns out to be closed takes a member of a group along."""

    def leave() -> None:
        kit.log.append("answer 1")
        kit.a.append(b"member")
        kit.answer("2")

    kit.turn.answer(leave)
    kit.answer("3")
    kit.turn.end()
    assert kit.log == ["answer 1", "answer 3", "write a member", "answer 2"]


def test_answers_that_waited_long_leave_in_the_middle_behind_their_write(kit: Kit) -> None:
    kit.a.append(b"1")
    kit.answer("1")
    kit.turn.write_and_answer()
    kit.a.append(b"2")
    kit.answer("2")
    assert kit.log == ["write a 1", "answer 1"]
    kit.turn.end()
    assert kit.log[2:] == ["write a 2", "answer 2"]


def test_outside_of_a_turn_nothing_waits(kit: Kit) -> None:
    kit.turn.end()
    kit.a.append(b"1")
    kit.answer("1")
    kit.turn.at_end(lambda: kit.log.append("end"))
    assert kit.log == ["write a 1", "answer 1", "end"]


def test_one_request_alone_keeps_nothing_and_its_answer_waits_all_the_same() -> None:
    kit = Kit()
    kit.turn.end()
    kit.turn.begin(gathers=False)
    kit.a.append(b"1")
    kit.answer("1")
    assert kit.log == ["write a 1"]
    kit.turn.end()
    assert kit.log == ["write a 1", "answer 1"]


def test_what_is_large_is_written_at_once_behind_what_came_before(kit: Kit) -> None:
    kit.a.append(b"1")
    kit.a.append(b"x" * (SMALL_BYTES + 1))
    kit.a.append(b"2")
    kit.turn.end()
    assert kit.log == ["write a 1", "write a xxxxxxxxx", "write a 2"]


def test_files_are_written_in_the_order_of_their_appends(kit: Kit) -> None:
    for file, data in ((kit.a, b"1"), (kit.a, b"2"), (kit.b, b"3"), (kit.a, b"4")):
        file.append(data)
    kit.turn.end()
    assert kit.log == ["write a 12", "write b 3", "write a 4"]


def test_if_the_write_fails_no_answer_leaves(kit: Kit) -> None:
    """Not even those that promised nothing: whose records were lost is not told apart."""
    kit.a.fails = True
    kit.a.append(b"1")
    kit.answer("1")
    kit.b.append(b"2")
    kit.answer("2")
    kit.turn.end()
    assert kit.log == ["write b 2", "failed a"]


def test_what_is_answered_once_the_failure_is_known_leaves(kit: Kit) -> None:
    def fail(failure: DiskFailed) -> None:
        kit.log.append("failed")
        kit.answer("refused")

    kit.turn.failed = fail
    kit.a.fails = True
    kit.a.append(b"1")
    kit.answer("1")
    kit.turn.end()
    kit.turn.begin()
    kit.answer("2")
    kit.turn.end()
    assert kit.log == ["failed", "answer refused", "answer 2"]


def test_a_failure_that_nobody_is_there_to_hear_is_not_swallowed(kit: Kit) -> None:
    turn = kit.turn = Turn()
    turn.begin()
    kit.a.fails = True
    kit.a.append(b"1")
    with pytest.raises(DiskFailed):
        turn.end()


def test_what_waits_for_the_end_keeps_its_order(kit: Kit) -> None:
    kit.turn.at_end(lambda: kit.log.append("1"))
    kit.turn.at_end(lambda: kit.log.append("2"))
    assert kit.log == []
    kit.turn.end()
    assert kit.log == ["1", "2"]


def test_what_the_end_itself_asks_for_is_done_at_once(kit: Kit) -> None:
    def note(what: str) -> Callable[[], None]:
        return lambda: kit.log.append(what)

    def asker() -> None:
        kit.turn.at_end(note("asked"))
        note("asker")()

    kit.turn.at_end(asker)
    kit.turn.end()
    assert kit.log == ["asked", "asker"]
