"""Connections that nobody has vouched for are bounded in time and in number."""

import pytest

from kafkapy.broker.requests.request import Peer
from kafkapy.server.sockets import settling
from kafkapy.server.sockets.settling import MOST_UNSETTLED, SETTLED_WITHIN_SECONDS, Settling


class Fake:
    """What of a connection is looked at."""

    def __init__(self) -> None:
        self.peer = Peer("SSL", "h", is_settled=False)
        self.is_open = True
        self.reason: str | None = None

    def close(self, reason: str | None) -> None:
        self.is_open, self.reason = False, reason


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(settling, "time", clock)
    return clock


def added(to: Settling) -> Fake:
    one = Fake()
    to.add(one)  # type: ignore[arg-type]  # as far as it is looked at
    return one


def test_who_has_not_said_who_it_is_in_time_is_let_go(clock: Clock) -> None:
    settling = Settling()
    slow, known = added(settling), added(settling)
    clock.now += SETTLED_WITHIN_SECONDS / 2
    later = added(settling)
    known.peer.is_settled = True
    settling.close_overdue()
    clock.now += SETTLED_WITHIN_SECONDS / 2 + 1
    settling.close_overdue()
    assert (slow.is_open, known.is_open, later.is_open) == (False, True, True)
    assert slow.reason == "not authenticated in time"


def test_of_too_many_the_oldest_make_room_and_nobody_who_is_known(clock: Clock) -> None:
    settling = Settling()
    known = added(settling)
    known.peer.is_settled = True
    others = [added(settling) for _ in range(MOST_UNSETTLED)]
    assert all(one.is_open for one in (known, *others))
    newest = added(settling)
    assert [one.is_open for one in others[:3]] == [False, True, True]
    assert known.is_open
    assert newest.is_open
