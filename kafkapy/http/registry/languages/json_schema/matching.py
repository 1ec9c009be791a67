"""The largest number of pairs in which nobody is twice (Kuhn's way, by augmenting paths)."""

from __future__ import annotations

from collections.abc import Sequence


def largest_matching(suitable: Sequence[Sequence[int]]) -> int:
    """`suitable[i]`: with whom i may be paired."""
    partner: dict[int, int] = {}

    def is_placed(one: int, tried: set[int]) -> bool:
        for other in suitable[one]:
            if other in tried:
                continue
            tried.add(other)
            if other not in partner or is_placed(partner[other], tried):
                partner[other] = one
                return True
        return False

    return sum(is_placed(one, set()) for one in range(len(suitable)))
