"""Short time slices: asked for by the loop's own thread, no priority with them."""

import ctypes
import platform
import threading
from collections.abc import Callable
from struct import Struct

import pytest

from kafkapy.server.sockets import time_slices as slices

ATTRIBUTES = Struct("=IIQiIQQQ")
GETATTR, SETATTR = 315, 314
OTHER, BATCH = 0, 3

pytestmark = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="the numbers of the system calls below are of x86-64",
)


def attributes() -> tuple[int, ...]:
    buffer = ctypes.create_string_buffer(ATTRIBUTES.size)
    assert ctypes.CDLL(None).syscall(GETATTR, 0, buffer, ATTRIBUTES.size, 0) == 0
    return ATTRIBUTES.unpack(buffer.raw)


def give(policy: int, slice_ns: int) -> tuple[int, ...]:
    """To the calling thread; what it has then."""
    size, _, flags, nice, *_ = attributes()
    wanted = ATTRIBUTES.pack(size, policy, flags, nice, 0, slice_ns, 0, 0)
    assert ctypes.CDLL(None).syscall(SETATTR, 0, wanted, 0) == 0
    return attributes()


def in_a_thread(run: Callable[[], None]) -> None:
    """Slices are a thread's own, so this one keeps what it has."""
    bad: list[BaseException] = []

    def caught() -> None:
        try:
            run()
        except BaseException as error:
            bad.append(error)

    before = attributes()
    thread = threading.Thread(target=caught)
    thread.start()
    thread.join()
    if bad:
        raise bad[0]
    assert attributes() == before


def test_slices_are_short_and_nothing_else_changes() -> None:
    def run() -> None:
        given = give(OTHER, 3_000_000)
        if given[5] == 0:
            pytest.skip("this kernel (before 6.12) has no slices to ask for")
        slices.ask_for_short_slices()
        assert attributes() == (*given[:5], slices.SLICE_NS, *given[6:])

    in_a_thread(run)


def test_a_policy_that_somebody_chose_is_kept() -> None:
    """As `chrt --batch 0 kafkapy serve` does."""

    def run() -> None:
        given = give(BATCH, 0)
        slices.ask_for_short_slices()
        assert attributes() == given
        assert given[1] == BATCH

    in_a_thread(run)


def test_a_machine_nobody_knows_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "vax")

    def run() -> None:
        given = give(OTHER, 3_000_000)
        slices.ask_for_short_slices()
        assert attributes() == given

    in_a_thread(run)
