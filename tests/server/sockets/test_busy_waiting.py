"""Looking without sleeping: kept up where requests come soon, given up where they do not."""

from kafkapy.server.sockets.busy_waiting import LONGEST_PAUSE, MOMENT, SHORTEST_PAUSE, Events, Haste

READY: Events = [(7, 1)]


class Sockets:
    """Ready after so many seconds of looking; each look takes a fifth of the moment."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ready_at = 0.0
        self.looks = 0

    def poll(self, timeout: float, _most: int) -> Events:
        assert timeout == 0, "it never sleeps"
        self.looks += 1
        self.now += MOMENT / 5
        return READY if self.now >= self.ready_at else []

    def clock(self) -> float:
        return self.now


class Kit:
    def __init__(self) -> None:
        self.sockets = Sockets()
        self.haste = Haste(self.sockets.poll, self.sockets.clock)

    def wait(self, seconds: float) -> bool:
        """Whether a request that comes after so long is met without sleeping."""
        sockets = self.sockets
        sockets.ready_at = sockets.now + seconds
        if self.haste.poll():
            return True
        sockets.now = max(sockets.now, sockets.ready_at)
        return False

    def slept_through(self) -> int:
        """Waits, all of them short, until it looks again."""
        for count in range(2 * LONGEST_PAUSE):
            if self.wait(MOMENT / 2):
                return count
        raise AssertionError("it never looks again")

    def disappoint(self) -> None:
        """Until it goes to sleep without looking."""
        looks = -1
        while looks != self.sockets.looks:
            looks = self.sockets.looks
            self.wait(10 * MOMENT)


def test_requests_that_come_soon_are_met_without_sleeping() -> None:
    kit = Kit()
    assert all(kit.wait(MOMENT / 2) for _ in range(1000))


def test_one_that_comes_late_is_forgiven() -> None:
    kit = Kit()
    for _ in range(10):
        kit.wait(MOMENT / 2)
    assert not kit.wait(10 * MOMENT)
    assert kit.wait(MOMENT / 2)


def test_looking_in_vain_ends_soon_and_is_tried_ever_more_seldom() -> None:
    kit = Kit()
    pauses = []
    for _ in range(12):
        kit.disappoint()
        pauses.append(kit.slept_through() + 1)  # one was slept through to see that it sleeps
    doubled = [SHORTEST_PAUSE * 2**each for each in range(12)]
    assert pauses == [min(each, LONGEST_PAUSE) for each in doubled]


def test_with_requests_that_come_late_hardly_any_time_is_spent_looking() -> None:
    kit = Kit()
    for _ in range(20_000):
        kit.wait(10 * MOMENT)
    assert kit.sockets.looks < 200


def test_who_was_met_for_long_is_believed_again_after_a_pause() -> None:
    kit = Kit()
    for _ in range(5):
        kit.disappoint()
    kit.slept_through()
    for _ in range(200):
        assert kit.wait(MOMENT / 2)
    kit.disappoint()
    assert kit.slept_through() + 1 == SHORTEST_PAUSE
