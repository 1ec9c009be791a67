"""Whoever makes trouble: kills, pauses, cuts, slows, moves and confuses, by the dice.

    every few seconds one of the seed's troubles begins; each ends by itself after a while
    (whoever died is started again), or all at once when the world is healed

What a trouble is stands in `troubles/`, a module for each kind, and what all of them need is here:
whom it may hit, and when it ends. They meet as chance wants it: a leader is isolated while another
node is paused and a third one starts.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from kafkapy.core.seams import Callback
from kafkapy.core.time import later
from kafkapy.sim.cluster.clients.direct import Client
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.world import ClusterWorld
from kafkapy.sim.world.rng import SimRng

# How long a machine is off, and how long most other troubles last.
_DOWN_MS: Final = (50, 12_000)
LASTS_MS: Final = (100, 12_000)
# What is to happen at the nth of something has happened by then, or does not any more: who waits
# for his death is hit by nothing else.
SOON_MS: Final = 10_000

Trouble = Callable[["Nemesis"], None]


class Nemesis:
    """`flushes`: what is acknowledged is on the disks of all in sync. If not, a machine may lose
    power only while all are well, and until it has caught up nobody else may die: Kafka takes a
    killed process for one that may have lost something, and when all in sync are such, elects one
    that has. The same holds, flushed or not, for who loses what was flushed. `copies`: of each
    partition."""

    def __init__(
        self,
        world: ClusterWorld,
        rng: SimRng,
        troubles: Sequence[Trouble],
        pace_ms: int,
        *,
        flushes: bool,
        copies: int = 3,
    ) -> None:
        self.count = 0
        self.world = world
        self.rng = rng
        self.flushes = flushes
        self.copies = copies
        # The furthest that any clock was ever set.
        self.ahead_ms = 0
        # Somebody has, who was in sync, and has not caught up.
        self.has_lost_something = False
        # Whoever operates the cluster: changes what it is told to change, at a bad time.
        self.operator = Client(world, "operator")
        self._troubles = troubles
        self._pace_ms = pace_ms
        self._is_over = False
        self._restarts: set[str] = set()

    def begin(self) -> None:
        self._tend()
        if self._troubles:
            self._next()

    def heal(self) -> None:
        """Nothing is wrong any more, and whoever is down is started."""
        self._is_over = True
        self.world.trace.note("nemesis", "heals")
        self.world.network.heal()
        for host in self.world.hosts.values():
            host.disk_latency_ms = 0
            host.disk.forget_faults()
            host.disk.mend()
            host.power.cut_after(None)
            host.clock.drift(0)
            # Not back: a transaction times out by the wall clock, as in Kafka, and who began it may
            # have been the furthest ahead.
            host.clock.set_wall(self.ahead_ms)
            if host.is_paused:
                host.resume()
            if host.is_stopping or host.has_lost_a_directory:
                host.kill()
            if not host.is_alive:
                host.start()

    # By the clock.

    def _next(self) -> None:
        wait_ms = self.rng.between(self._pace_ms // 10, self._pace_ms)
        self.after(wait_ms, self._act)

    def _act(self) -> None:
        trouble = self.rng.choice(self._troubles)
        self.count += 1
        trouble(self)
        self._next()

    def _tend(self) -> None:
        """Whoever died, of whatever, is started again after a while."""
        if self.has_lost_something and self.all_are_well():
            self.has_lost_something = False
        for host in self.world.hosts.values():
            if not host.is_alive and host.name not in self._restarts:
                self._restarts.add(host.name)
                self.after(self.rng.magnitude(*_DOWN_MS), partial(self._restart, host))
        self.after(200, self._tend)

    def _restart(self, host: Host) -> None:
        self._restarts.discard(host.name)
        if not host.is_alive:
            host.start()

    # What troubles ask of it.

    def after(self, wait_ms: int, then: Callback) -> None:
        def unless_over() -> None:
            if not self._is_over:
                then()

        clock = self.world.clock
        clock.call_at(later(clock.now(), wait_ms), unless_over)

    def lasts(self, end: Callback) -> None:
        """A trouble has begun; `end` when it has lasted."""
        self.after(self.rng.magnitude(*LASTS_MS), end)

    def note(self, what: str, *facts: object) -> None:
        self.world.trace.note("nemesis", what, *facts)

    def host(self) -> Host:
        return self.rng.choice(list(self.world.hosts.values()))

    def mortal(self) -> Host | None:
        """Who may die now."""
        return None if self.has_lost_something else self.living()

    def living(self) -> Host | None:
        living = [host for host in self.world.hosts.values() if host.is_quiet]
        return self.rng.choice(living) if living else None

    def forgetful(self) -> Host | None:
        """A broker that may lose what it has flushed, and from then on has."""
        brokers = [host for host in self.world.brokers if host.is_quiet]
        if self.copies == 1 or self.has_lost_something or not brokers or not self.all_are_well():
            return None
        self.has_lost_something = True
        return self.rng.choice(brokers)

    def all_are_well(self) -> bool:
        return self.world.is_in_sync and all(
            host.is_serving and host.is_quiet and not host.has_lost_a_directory
            for host in self.world.hosts.values()
        )

    def pair(self) -> tuple[str, str]:
        """Two machines; one may be a client's, more often than not neither is."""
        nodes = [host.name for host in self.world.hosts.values()]
        every = nodes if self.rng.chance(70) else list(self.world.network.hosts)
        one = self.rng.choice(nodes)
        other = self.rng.choice([name for name in every if name != one])
        return (one, other) if self.rng.chance(50) else (other, one)
