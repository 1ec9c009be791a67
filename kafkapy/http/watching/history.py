"""The last hour: how much was written and read, and how far groups were behind. For people's pages;
who wants more than that keeps /metrics elsewhere.

    topics   records and bytes a second that were written, of all replicas of this node, and bytes
             a second that consumers were given here
    groups   records not read: of those that this node coordinates, and of those whose page was
             looked at here within the hour

A look every ten seconds; rings of the last 360, of 1,000 topics and as many groups at the most.
What is idle for an hour takes no room; of more, those that were busy last are kept.
"""

from array import array
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from kafkapy.broker.partitions.partition import Partition
    from kafkapy.http.site import Site

EVERY_SECONDS: Final = 10
LOOKS: Final = 360
MOST: Final = 1000
# Groups of other coordinators, which are asked.
_MOST_WATCHED: Final = 50
# So many partitions are looked at before others on this thread get their turn.
_AT_ONCE: Final = 1000

RECORDS, BYTES_IN, BYTES_OUT = range(3)
LAG: Final = 0

LagsOf = Callable[[list[str]], Awaitable[dict[str, int | None]]]


class Rings:
    """Some values, each look; the newest of LOOKS."""

    __slots__ = ("_rings", "born", "busy")

    def __init__(self, count: int, look: int) -> None:
        self._rings = [array("f", bytes(4 * LOOKS)) for _ in range(count)]
        self.born = look
        self.busy = look

    def put(self, look: int, values: Iterable[float]) -> None:
        for ring, value in zip(self._rings, values, strict=True):
            ring[look % LOOKS] = value
            if value:
                self.busy = look

    def past(self, which: int, look: int) -> list[float]:
        """The oldest first, the last that of `look`."""
        ring = self._rings[which]
        first = max(self.born, look - LOOKS + 1)
        return [ring[one % LOOKS] for one in range(first, look + 1)]


class Shelf:
    """Rings by name."""

    def __init__(self, count: int, *, are_rates: bool) -> None:
        self._count = count
        self._are_rates = are_rates
        self._rings: dict[str, Rings] = {}

    def put(self, look: int, told: Mapping[str, tuple[float, ...]]) -> None:
        """What is not told of is not there any more."""
        for name in [one for one in self._rings if one not in told]:
            del self._rings[name]
        for name, values in told.items():
            rings = self._rings.get(name)
            if rings is None:
                if not any(values) or not self._has_room(look):
                    continue
                # The look before it there was none: the line of a rate begins on the ground.
                born = max(0, look - self._are_rates)
                rings = self._rings[name] = Rings(self._count, born)
            rings.put(look, values)
            if look - rings.busy >= LOOKS:
                del self._rings[name]

    def _has_room(self, look: int) -> bool:
        if len(self._rings) < MOST:
            return True
        idlest = min(self._rings, key=lambda name: self._rings[name].busy)
        if self._rings[idlest].busy >= look - 1:
            return False
        del self._rings[idlest]
        return True

    def past(self, name: str, which: int, look: int) -> list[float]:
        """Empty if nothing was to tell within the hour."""
        rings = self._rings.get(name)
        return [] if rings is None else rings.past(which, look)

    def __len__(self) -> int:
        return len(self._rings)


class _Counted:
    """What a replica had counted at the look before."""

    __slots__ = ("bytes_in", "bytes_out", "end", "size")

    def __init__(self, one: "Partition") -> None:
        self.end = one.log.log_end_offset
        self.size = one.log.size
        self.bytes_in = one.bytes_in
        self.bytes_out = one.bytes_out


class History:
    """`look_number` counts from 0; None before the first."""

    def __init__(self) -> None:
        self.topics = Shelf(3, are_rates=True)
        self.groups = Shelf(1, are_rates=False)
        self.node = Rings(3, 0)
        self.look_number = -1
        self.wall_ms = 0
        self._at_ms: int | None = None
        self._before: dict[tuple[str, int], _Counted] = {}
        # Group -> the look at which its page was asked for.
        self._watched: dict[str, int] = {}

    def watch(self, group: str) -> None:
        """Somebody looks at its page."""
        self._watched.pop(group, None)
        self._watched[group] = self.look_number
        while len(self._watched) > _MOST_WATCHED:
            del self._watched[next(iter(self._watched))]

    def of_topic(self, name: str, which: int) -> list[float]:
        return self.topics.past(name, which, self.look_number)

    def of_group(self, name: str) -> list[float]:
        return self.groups.past(name, LAG, self.look_number)

    def of_node(self, which: int) -> list[float]:
        return self.node.past(which, self.look_number)

    async def look(self, site: "Site", lags_of: LagsOf) -> None:
        """`lags_of` asks for the lag of groups that another node coordinates."""
        broker = site.link.node.broker
        if broker is None or not site.link.is_serving:
            return
        now_ms = site.link.node.clock.now()
        seconds = 0.0 if self._at_ms is None else (now_ms - self._at_ms) / 1000
        rates = await self._rates(broker.partitions.snapshot(), seconds)
        lags = await self._lags(site, lags_of)
        look = self.look_number + 1
        self.topics.put(look, rates)
        self.groups.put(look, lags)
        columns = zip(*rates.values(), strict=True) if rates else ((), (), ())
        self.node.put(look, [sum(one) for one in columns])
        self._at_ms, self.wall_ms = now_ms, site.link.node.clock.wall()
        self.look_number = look

    async def _rates(
        self, every: "list[Partition]", seconds: float
    ) -> dict[str, tuple[float, ...]]:
        counts: dict[str, list[int]] = {}
        before, self._before = self._before, {}
        for index, one in enumerate(every):
            if index % _AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
            if one.is_offline:
                continue
            where = one.topic_partition
            now = self._before[where] = _Counted(one)
            sums = counts.setdefault(where.topic, [0, 0, 0])
            then = before.get(where)
            if then is not None:
                grown = max(0, now.size - then.size)
                sums[RECORDS] += max(0, now.end - then.end)
                sums[BYTES_IN] += now.bytes_in - then.bytes_in if one.is_leader else grown
                sums[BYTES_OUT] += max(0, now.bytes_out - then.bytes_out)
        if seconds <= 0:
            return dict.fromkeys(counts, (0.0, 0.0, 0.0))
        return {name: tuple(max(0, one) / seconds for one in sums) for name, sums in counts.items()}

    async def _lags(self, site: "Site", lags_of: LagsOf) -> dict[str, tuple[float, ...]]:
        lags: dict[str, float] = {}
        for one in site.lag.found:
            lags[one.group] = lags.get(one.group, 0.0) + one.records
        for group, since in list(self._watched.items()):
            if self.look_number - since > LOOKS:
                del self._watched[group]
        wanted = [one for one in self._watched if one not in lags]
        if wanted:
            for group, lag in (await lags_of(wanted)).items():
                if lag is not None:
                    lags[group] = float(lag)
        return {group: (lag,) for group, lag in lags.items()}
