"""Where replicas should be: the plan that moves least.

    keep     every replica that may stay where it is stays there
    fill     what is missing goes to the rack that has least of the partition, there to the
             broker that holds least
    spread   a rack that has two while another has none gives one away
    even     from the broker that holds most to the one that holds least, until they differ by
             one at most; of the topic that is most uneven between the two its smallest partition
    lead     which replica is the first, so the preferred leader: as even as that, for nothing

No step makes a partition's spread over racks worse. Where only the first three are wanted
(somebody leaves), whoever is not concerned is not touched. Without racks the fourth makes as
few moves as there can be; each goes through another broker only if racks leave no other way.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

Where = tuple[str, int]
Placement = dict[Where, tuple[int, ...]]


class Impossible(Exception):
    """The reason in one line."""


class Site(NamedTuple):
    """`racks`: of all brokers that may keep what they hold. `open`: those that may get more."""

    racks: Mapping[int, str | None]
    open: frozenset[int]


def planned(
    current: Placement,
    site: Site,
    *,
    factors: Mapping[str, int] | None = None,
    sizes: Mapping[Where, int] | None = None,
    evens_out: bool = True,
) -> Placement:
    """All of `current`, changed where it should be. `factors`: replicas that a topic's partitions
    should have, if not as many as now. Impossible where there are too few brokers."""
    board = _Board(current, site, sizes or {})
    touched = set()
    for where in sorted(current):
        factor = (factors or {}).get(where[0], len(current[where]))
        if board.has_moved(where, factor):
            touched.add(where)
    if evens_out:
        for where in sorted(current):
            board.spread(where)
        _even(board)
        touched = set(current)
    _lead(board, touched)
    return {where: tuple(board.replicas[where]) for where in current}


class _Board:
    """A placement under change, and who holds how much of it."""

    def __init__(self, current: Placement, site: Site, sizes: Mapping[Where, int]) -> None:
        self.site = site
        self.replicas = {where: list(replicas) for where, replicas in current.items()}
        self.load = Counter(dict.fromkeys(site.racks, 0))
        self._sizes = sizes
        self._held: dict[int, dict[str, set[int]]] = {broker: {} for broker in site.racks}
        for where, replicas in current.items():
            for broker in replicas:
                self._take(where, broker)

    def has_moved(self, where: Where, factor: int) -> bool:
        """Give the partition `factor` replicas, all of them where some may be."""
        replicas = self.replicas[where]
        before = list(replicas)
        for broker in before:
            if len(replicas) > factor and broker not in self.site.racks:
                replicas.remove(broker)
        while len(replicas) > factor:
            self._drop(where)
        for at, broker in enumerate(replicas):
            if broker not in self.site.racks:
                replicas[at] = self._best(where, without=broker)
                self._take(where, replicas[at])
        while len(replicas) < factor:
            replicas.append(self._best(where))
            self._take(where, replicas[-1])
        return replicas != before

    def _drop(self, where: Where) -> None:
        """The one whose rack has most of the partition, of those the one that holds most; the
        preferred leader stays if it can."""
        replicas = self.replicas[where]
        racks = self._racks(replicas)
        worst = max(
            replicas,
            key=lambda one: (racks[self.site.racks[one]], one != replicas[0], self.load[one], one),
        )
        replicas.remove(worst)
        self._give(where, worst)

    def _best(self, where: Where, without: int | None = None) -> int:
        """Who should get a replica, beside those who have one."""
        replicas = [one for one in self.replicas[where] if one != without]
        there = self._racks([one for one in replicas if one in self.site.racks])
        free = self.site.open.difference(replicas)
        if not free:
            topic, index = where
            raise Impossible(
                f"{topic}-{index} should have {len(self.replicas[where]) + (without is None)} "
                f"replicas, and brokers that may have one are {_named(self.site.open)}"
            )
        topic = where[0]
        return min(
            free,
            key=lambda one: (
                there[self.site.racks[one]],
                self.load[one],
                len(self._held[one].get(topic, ())),
                one,
            ),
        )

    def spread(self, where: Where) -> None:
        """Move single replicas to other racks as long as that spreads the partition further."""
        while True:
            replicas = self.replicas[where]
            racks = self._racks(replicas)
            crowded = [
                one for one in replicas if racks[self.site.racks[one]] == max(racks.values())
            ]
            leaves = max(crowded, key=lambda one: (self.load[one], one))
            gets = self._best_elsewhere(where, leaves)
            if gets is None:
                return
            self.move(where, leaves, gets)

    def _best_elsewhere(self, where: Where, leaves: int) -> int | None:
        if not self.site.open.difference(self.replicas[where]):
            return None
        gets = self._best(where, leaves)
        racks = self._racks(self.replicas[where])
        is_better = racks[self.site.racks[gets]] + 1 < racks[self.site.racks[leaves]]
        return gets if is_better else None

    def move(self, where: Where, leaves: int, gets: int) -> None:
        replicas = self.replicas[where]
        replicas[replicas.index(leaves)] = gets
        self._give(where, leaves)
        self._take(where, gets)

    def movable(self, leaves: int, gets: int) -> Where | None:
        """What may go from one to the other: of the topic of which the one has most and the
        other least, the smallest partition."""
        ours, theirs = self._held[leaves], self._held[gets]
        topics = sorted(ours, key=lambda one: (len(theirs.get(one, ())) - len(ours[one]), one))
        for topic in topics:
            indexes = ours[topic] - theirs.get(topic, set())
            fitting = [one for one in indexes if self._may_move((topic, one), leaves, gets)]
            if fitting:
                return topic, min(fitting, key=lambda one: (self._sizes.get((topic, one), 0), one))
        return None

    def _may_move(self, where: Where, leaves: int, gets: int) -> bool:
        """Not if its racks would be worse off."""
        racks = self.site.racks
        if racks[leaves] == racks[gets]:
            return True
        there = self._racks(self.replicas[where])
        return there[racks[gets]] < there[racks[leaves]]

    def _racks(self, replicas: Iterable[int]) -> Counter[str | None]:
        return Counter(self.site.racks[one] for one in replicas)

    def _take(self, where: Where, broker: int) -> None:
        if broker in self._held:
            self._held[broker].setdefault(where[0], set()).add(where[1])
            self.load[broker] += 1

    def _give(self, where: Where, broker: int) -> None:
        topic, index = where
        self._held[broker][topic].remove(index)
        if not self._held[broker][topic]:
            del self._held[broker][topic]
        self.load[broker] -= 1


def _named(brokers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(brokers))) or "none"


def _even(board: _Board) -> None:
    def movable(leaves: int, gets: int) -> Where | None:
        return board.movable(leaves, gets)

    def move(where: Where, leaves: int, gets: int) -> bool:
        if board.movable(leaves, gets) is None:
            return False
        board.move(where, leaves, gets)
        return True

    _level(sorted(board.site.open), board.load, movable, move)


def _lead(board: _Board, touched: set[Where]) -> None:
    """The first replica of each partition leads it. Only those in `touched` may change; who may
    get nothing new should lead nothing, either."""
    leads: Counter[int] = Counter(dict.fromkeys(board.site.open, 0))
    led: dict[int, set[Where]] = {one: set() for one in board.site.open}
    for where in sorted(board.replicas):
        replicas = board.replicas[where]
        able = [one for one in replicas if one in leads]
        if where in touched and able and replicas[0] not in leads:
            _put_first(replicas, min(able, key=lambda one: (leads[one], one)))
        if replicas[0] in leads:
            leads[replicas[0]] += 1
            if where in touched:
                led[replicas[0]].add(where)

    def movable(leaves: int, gets: int) -> Where | None:
        return min((one for one in led[leaves] if gets in board.replicas[one]), default=None)

    def move(where: Where, leaves: int, gets: int) -> bool:
        _put_first(board.replicas[where], gets)
        led[leaves].remove(where)
        led[gets].add(where)
        leads[leaves] -= 1
        leads[gets] += 1
        return True

    _level(sorted(board.site.open), leads, movable, move)


def _put_first(replicas: list[int], broker: int) -> None:
    replicas.remove(broker)
    replicas.insert(0, broker)


_LEVEL: Final = 2  # a difference worth a move


def _level(
    brokers: list[int],
    load: Counter[int],
    movable: Callable[[int, int], Where | None],
    move: Callable[[Where, int, int], bool],
) -> None:
    """Move from those with most to those with least, by the shortest way there is, until no
    move makes any two more even. Each makes the sum of squares smaller: it ends."""
    stuck: set[int] = set()
    while len(stuck) < len(brokers):
        most = max((one for one in brokers if one not in stuck), key=lambda one: (load[one], -one))
        way = _way(brokers, load, movable, most)
        if way is None:
            stuck.add(most)
            continue
        # From its end, so that nobody holds more than before meanwhile.
        for leaves, gets in reversed(way):
            where = movable(leaves, gets)
            if where is None or not move(where, leaves, gets):
                stuck.add(most)  # one step took away what another needed
                break
        else:
            stuck.clear()


def _way(
    brokers: list[int],
    load: Counter[int],
    movable: Callable[[int, int], Where | None],
    most: int,
) -> list[tuple[int, int]] | None:
    """Steps from `most` to somebody who has less by two or more."""
    came_from: dict[int, int] = {}
    queue = deque([most])
    while queue:
        at = queue.popleft()
        for gets in sorted(brokers, key=lambda one: (load[one], one)):
            if gets == most or gets in came_from or movable(at, gets) is None:
                continue
            came_from[gets] = at
            if load[most] - load[gets] >= _LEVEL:
                way = [gets]
                while way[-1] != most:
                    way.append(came_from[way[-1]])
                way.reverse()
                return list(pairwise(way))
            queue.append(gets)
    return None
