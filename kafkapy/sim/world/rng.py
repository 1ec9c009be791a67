"""Chance from a seed: the Rng seam, and the dice of whoever makes trouble.

Everybody draws from a stream of his own (`fork`), so that one more draw in the workload
does not change what the disk tears. Only `getrandbits` of the standard generator is used:
it is the same in every version of Python.
"""

from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import TypeVar
from uuid import UUID

T = TypeVar("T")


class SimRng:
    """See the seam `Rng`."""

    def __init__(self, seed: int | str) -> None:
        self._seed = seed
        self._random = Random(int.from_bytes(sha256(str(seed).encode()).digest()))  # nosec B311

    def fork(self, name: str) -> "SimRng":
        """A stream of its own; the same for the same name."""
        return SimRng(f"{self._seed}/{name}")

    def below(self, limit: int) -> int:
        assert limit > 0, limit
        bits = limit.bit_length()
        while True:
            value = self._random.getrandbits(bits)
            if value < limit:
                return value

    def uuid(self) -> UUID:
        return UUID(int=self._random.getrandbits(128), version=4)

    # Dice.

    def between(self, low: int, high: int) -> int:
        """From `low` to `high`, both possible."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def choice(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """Each as often as its weight says."""
        at = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            at -= weight
            if at < 0:
                return option
        raise AssertionError(options)

    def magnitude(self, low: int, high: int) -> int:
        """From `low` to `high`, each power of two as likely as any other."""
        bits = self.between(low.bit_length(), high.bit_length())
        least, most = max(low, 1 << (bits - 1) if bits else 0), min(high, (1 << bits) - 1)
        return self.between(least, max(least, most))

    def bytes(self, length: int) -> bytes:
        return self._random.getrandbits(length * 8).to_bytes(length, "big") if length else b""
