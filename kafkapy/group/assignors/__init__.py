"""Server-side assignors: who should own which partition (KIP-848).

An assignor is a pure function of a `Subscriptions`; ASSIGNORS is the table of them by the
names that clients ask for.
"""

from collections.abc import Mapping
from typing import Final

from kafkapy.group.assignors.range import assign_ranges
from kafkapy.group.assignors.subscriptions import Assignor, MemberSubscription, Subscriptions
from kafkapy.group.assignors.uniform import assign_uniformly

__all__ = ["ASSIGNORS", "Assignor", "MemberSubscription", "Subscriptions"]

ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniformly, "range": assign_ranges}
