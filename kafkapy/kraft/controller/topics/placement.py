"""Where new replicas go: striped over racks and brokers.

    rack a: 0 1      partition 0: rack a, rack b, rack a ...   leaders rotate over racks
    rack b: 2 3      partition 1: rack b, rack a, rack b ...   replicas over brokers

Every list starts at a random place and moves on by one with each partition. Fenced brokers
get replicas only where a rack has no unfenced one left, and never lead. After as many
partitions as there are unfenced brokers all is shuffled, so that the same brokers do not
always follow one another. formats/controller 3.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Rng
from kafkapy.kraft.image.registrations import BrokerRegistration

T = TypeVar("T")


class UsableBroker(NamedTuple):
    id: int
    rack: str | None
    fenced: bool


def usable(brokers: Iterable[BrokerRegistration]) -> list[UsableBroker]:
    """Those that may get new replicas: not about to stop, not all directories cordoned. Who has
    stopped is fenced, and comes back."""
    return [
        UsableBroker(broker.id, broker.rack, broker.fenced)
        for broker in brokers
        if (broker.fenced or not broker.in_controlled_shutdown) and not _is_cordoned(broker)
    ]


def _is_cordoned(broker: BrokerRegistration) -> bool:
    cordoned = broker.cordoned_log_dirs or ()
    return bool(broker.log_dirs) and set(broker.log_dirs) <= set(cordoned)


class _Turns:
    """Brokers in turn: each epoch (partition) begins one further on."""

    def __init__(self, brokers: list[int], rng: Rng) -> None:
        self.brokers = sorted(brokers)
        self._rng = rng
        self._offset = rng.below(len(brokers)) if brokers else 0
        self._epoch = 0
        self._given = 0

    def next(self, epoch: int) -> int | None:
        """A broker that was not given out in this epoch; None if there is none left."""
        if not self.brokers:
            return None
        if epoch != self._epoch:
            self._epoch = epoch
            self._given = 0
            self._offset = (self._offset + 1) % len(self.brokers)
        if self._given >= len(self.brokers):
            return None
        self._given += 1
        return self.brokers[(self._offset + self._given - 1) % len(self.brokers)]

    def shuffle(self) -> None:
        """Epochs begin anew: what was given out in the former one of that number is not."""
        _shuffle(self.brokers, self._rng)
        self._epoch = -1


class _Rack:
    def __init__(self, brokers: list[UsableBroker], rng: Rng) -> None:
        self.unfenced = _Turns([one.id for one in brokers if not one.fenced], rng)
        self.fenced = _Turns([one.id for one in brokers if one.fenced], rng)

    def next(self, epoch: int) -> int | None:
        broker = self.unfenced.next(epoch)
        return self.fenced.next(epoch) if broker is None else broker


class StripedPlacer:
    """Places the partitions of one topic, one after the other."""

    def __init__(self, brokers: list[UsableBroker], rng: Rng) -> None:
        self._rng = rng
        by_rack: dict[str | None, list[UsableBroker]] = {}
        for broker in brokers:
            by_rack.setdefault(broker.rack, []).append(broker)
        names = sorted(by_rack, key=lambda name: (name is not None, name or ""))
        self._racks = [_Rack(by_rack[name], rng) for name in names]
        self._total = len(brokers)
        self._unfenced = sum(not broker.fenced for broker in brokers)
        self._epoch = 0
        self._offset = rng.below(len(names)) if names else 0

    def place(self, partitions: int, replication_factor: int) -> list[tuple[int, ...]]:
        self._check(replication_factor)
        return [self._next(replication_factor) for _ in range(partitions)]

    def _check(self, replication_factor: int) -> None:
        if replication_factor <= 0:
            raise _cannot(
                f"Invalid replication factor {replication_factor}: the replication factor must "
                "be positive."
            )
        if self._unfenced == 0:
            raise _cannot("All brokers are currently fenced.")
        if replication_factor > self._total:
            raise _cannot(
                f"The target replication factor of {replication_factor} cannot be reached "
                f"because only {self._total} broker(s) are registered or some brokers have all "
                "their log directories cordoned."
            )

    def _next(self, replication_factor: int) -> tuple[int, ...]:
        # With a single unfenced broker the epochs must go on: a new one is what makes its
        # turn come round again.
        if self._epoch == self._unfenced and self._unfenced > 1:
            _shuffle(self._racks, self._rng)
            for rack in self._racks:
                rack.unfenced.shuffle()
                rack.fenced.shuffle()
            self._epoch = 0
        self._offset %= len(self._racks)
        leader_rack, leader = self._leader()
        replicas = [leader]
        at, skip = self._offset, leader_rack
        while len(replicas) < replication_factor:
            if at == skip:
                skip = -1
            else:
                broker = self._racks[at].next(self._epoch)
                if broker is not None:
                    replicas.append(broker)
            at = (at + 1) % len(self._racks)
        self._epoch += 1
        self._offset += 1
        return tuple(replicas)

    def _leader(self) -> tuple[int, int]:
        count = len(self._racks)
        for step in range(count):
            rack = (self._offset + step) % count
            leader = self._racks[rack].unfenced.next(self._epoch)
            if leader is not None:
                return rack, leader
        raise AssertionError("an unfenced broker was counted, but no rack has one")


def _cannot(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICATION_FACTOR, why)


def _shuffle(items: list[T], rng: Rng) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = rng.below(last + 1)
        items[last], items[other] = items[other], items[last]
