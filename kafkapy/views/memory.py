"""How much all views of a node remember together; what was not used for longest goes first."""

from collections import OrderedDict
from typing import Protocol


class Forgettable(Protocol):
    """`size`: bytes of memory, roughly."""

    size: int

    def forget(self) -> None: ...


class Memory:
    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.used_bytes = 0
        # In the order of use, the longest unused first; with the size that was counted.
        self._held: OrderedDict[Forgettable, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def use(self, one: Forgettable) -> None:
        """It is used, is new, or has another size."""
        self.used_bytes += one.size - self._held.pop(one, 0)
        self._held[one] = one.size
        # Whoever uses it now has it still: it goes last, even if it is too large alone.
        while self.used_bytes > self.most_bytes and self._held:
            oldest, size = self._held.popitem(last=False)
            self.used_bytes -= size
            oldest.forget()

    def drop(self, one: Forgettable) -> None:
        self.used_bytes -= self._held.pop(one, 0)
