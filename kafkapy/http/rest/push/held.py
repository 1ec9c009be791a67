"""What streams keep of answers that their readers have not taken yet: so much in total.

Beyond it those who have waited longest keep nothing: when such a reader reads on, what it has not
had is fetched again. So any number of readers that read nothing cost no more than one bound, and
one that reads slowly is not fetched for anew with each piece.
"""

from typing import Final

from kafkapy.http.kafka.unread import Unread

MOST_BYTES: Final = 8 << 20


class Held:
    """One per site."""

    def __init__(self) -> None:
        self.size = 0
        self._most_bytes = MOST_BYTES
        # In the order in which their readers have last taken something.
        self._sizes: dict[Unread, int] = {}

    def keep(self, unread: Unread) -> None:
        """Its reader is taking of it now; again after each piece."""
        self.drop(unread)
        self._sizes[unread] = unread.size
        self.size += unread.size
        while self.size > self._most_bytes and len(self._sizes) > 1:
            oldest = next(iter(self._sizes))
            oldest.let_go()
            self.drop(oldest)

    def drop(self, unread: Unread) -> None:
        self.size -= self._sizes.pop(unread, 0)
