"""Whose wait for the interpreter is short, and whose long."""

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkapy.http.serving import interpreter


@pytest.fixture(autouse=True)
def the_interval_as_it_was() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


def slack_after(work: Callable[[], None]) -> int:
    """In nanoseconds, of a thread that has done it."""
    found: list[str] = []

    def run() -> None:
        work()
        place = Path(f"/proc/{threading.get_native_id()}/timerslack_ns")
        found.append(place.read_text(encoding="ascii"))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return int(found[0])


def test_the_nodes_thread_waits_shortly_and_https_long() -> None:
    assert slack_after(interpreter.prefer_this_thread) == interpreter.SOON_NS
    assert sys.getswitchinterval() == pytest.approx(interpreter.SWITCH_SECONDS)
    assert slack_after(interpreter.let_others_go_first) == interpreter.LATE_NS


def test_where_the_kernel_does_not_let_us_everything_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object, **__: object) -> int:
        raise PermissionError

    monkeypatch.setattr(Path, "write_text", refused)
    assert slack_after(interpreter.let_others_go_first) != interpreter.LATE_NS
