"""One turn of the loop: the requests that were there together when it began.

What parked fetches wait for may come several times in a turn. Answered at its end, a fetch
takes along all that came, and a busy node answers fewer and larger ones. Outside of a turn,
in a simulation say, nothing has to wait.
"""

from kafkapy.core.seams import Callback


class Turn:
    """Begun and ended by whoever reads from the sockets."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[Callback] | None = None

    def begin(self) -> None:
        self._waiting = []

    def at_end(self, then: Callback) -> None:
        if self._waiting is None:
            then()
        else:
            self._waiting.append(then)

    def end(self) -> None:
        """What these ask for once more is done at once: it is not of this turn."""
        waiting, self._waiting = self._waiting, None
        for then in waiting or ():
            then()
