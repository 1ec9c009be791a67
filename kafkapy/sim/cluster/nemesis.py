"""Whoever makes trouble: kills, pauses, cuts, slows and confuses, by the dice.

    every few seconds one of the seed's troubles begins; each ends by itself after a while
    (whoever died is started again), or all at once when the world is healed

A trouble is a row in `TROUBLES`. They meet as chance wants it: a leader is isolated while another
node is paused and a third one starts.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from kafkapy.core.seams import Callback
from kafkapy.core.time import later
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.network import Latency
from kafkapy.sim.cluster.world import ClusterWorld
from kafkapy.sim.world.power import IN_A_TURN
from kafkapy.sim.world.rng import SimRng

# Further ahead of a broker's clock than an hour no record may be.
_MOST_AHEAD_MS: Final = 25 * 60 * 1000
# How long a machine is off, and how long most other troubles last.
_DOWN_MS: Final = (50, 12_000)
_LASTS_MS: Final = (100, 12_000)
_STOP_PATIENCE_MS: Final = 30_000
_LATENCIES: Final[tuple[Latency, ...]] = ((0, 40), (1, 300), (20, 60), (200, 900))
_DISK_LATENCIES_MS: Final = (20, 200, 1_500)
_FAILS: Final = ("append", "append", "flush", "write_file", "create", "rename", "any")
_CHANGES: Final = (1, 400)


class Nemesis:
    """`flushes`: what is acknowledged is on the disks of all in sync. If not, a machine may lose
    power only while all are well, and until it has caught up nobody else may die: Kafka takes a
    killed process for one that may have lost something, and when all in sync are such, elects one
    that has."""

    def __init__(
        self,
        world: ClusterWorld,
        rng: SimRng,
        troubles: Sequence[str],
        pace_ms: int,
        *,
        flushes: bool,
    ) -> None:
        self.count = 0
        self._flushes = flushes
        self._has_lost_something = False
        self._world = world
        self._rng = rng
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
        self._world.trace.note("nemesis", "heals")
        self._world.network.heal()
        for host in self._world.hosts.values():
            host.disk_latency_ms = 0
            host.disk.forget_faults()
            host.power.cut_after(None)
            host.clock.drift(0)
            if host.is_paused:
                host.resume()
            if host.is_stopping or host.has_lost_a_directory:
                host.kill()
            if not host.is_alive:
                host.start()

    # By the clock.

    def _next(self) -> None:
        wait_ms = self._rng.between(self._pace_ms // 10, self._pace_ms)
        self._after(wait_ms, self._act)

    def _act(self) -> None:
        name = self._rng.choice(self._troubles)
        self.count += 1
        TROUBLES[name](self)
        self._next()

    def _tend(self) -> None:
        """Whoever died, of whatever, is started again after a while."""
        if self._has_lost_something and self._all_are_well():
            self._has_lost_something = False
        for host in self._world.hosts.values():
            if not host.is_alive and host.name not in self._restarts:
                self._restarts.add(host.name)
                self._after(self._rng.magnitude(*_DOWN_MS), partial(self._restart, host))
        self._after(200, self._tend)

    def _restart(self, host: Host) -> None:
        self._restarts.discard(host.name)
        if not host.is_alive:
            host.start()

    def _after(self, wait_ms: int, then: Callback) -> None:
        def unless_over() -> None:
            if not self._is_over:
                then()

        clock = self._world.clock
        clock.call_at(later(clock.now(), wait_ms), unless_over)

    def _while(self, end: Callback) -> None:
        """A trouble has begun; `end` when it has lasted."""
        self._after(self._rng.magnitude(*_LASTS_MS), end)

    # Whom.

    def _note(self, what: str, *facts: object) -> None:
        self._world.trace.note("nemesis", what, *facts)

    def _host(self) -> Host:
        return self._rng.choice(list(self._world.hosts.values()))

    def _mortal(self) -> Host | None:
        """Who may die now."""
        return None if self._has_lost_something else self._living()

    def _living(self) -> Host | None:
        living = [host for host in self._world.hosts.values() if host.is_quiet]
        return self._rng.choice(living) if living else None

    def _pair(self) -> tuple[str, str]:
        """Two machines; one may be a client's, more often than not neither is."""
        nodes = [host.name for host in self._world.hosts.values()]
        every = nodes if self._rng.chance(70) else list(self._world.network.hosts)
        one = self._rng.choice(nodes)
        other = self._rng.choice([name for name in every if name != one])
        return (one, other) if self._rng.chance(50) else (other, one)

    # Machines.

    def kill(self) -> None:
        self._kill(self._mortal())

    def kill_controller(self) -> None:
        self._kill(self._world.active_controller)

    def _kill(self, host: Host | None) -> None:
        if host is not None and host.is_quiet and not self._has_lost_something:
            host.kill()

    def kill_leader(self) -> None:
        """Of some partition."""
        found = [
            state.leader
            for topic in self._world.image_of_controller().topics_by_id.values()
            for state in topic.partitions.values()
        ]
        if found:
            self._kill(self._world.hosts.get(self._rng.choice(found)))

    def crash(self) -> None:
        host = self._mortal()
        if host is not None and (self._flushes or self._all_are_well()):
            self._has_lost_something = not self._flushes
            host.crash()

    def _all_are_well(self) -> bool:
        return self._world.is_in_sync and all(
            host.is_serving and host.is_quiet and not host.has_lost_a_directory
            for host in self._world.hosts.values()
        )

    def crash_all(self) -> None:
        """The power of the whole room."""
        if self._flushes and self._rng.chance(30):
            for host in self._world.hosts.values():
                if host.is_alive:
                    host.crash()

    def die_at_a_change(self) -> None:
        """In the middle of what it does: at the nth change of the disk, or the nth answer."""
        host = self._mortal()
        if host is not None:
            host.is_killed_when_cut = self._rng.chance(50) or not self._flushes
            kinds = IN_A_TURN if self._rng.chance(60) else frozenset[str]()
            after = self._rng.magnitude(*_CHANGES)
            self._note("will die", host.name, after, " ".join(sorted(kinds)))
            host.power.cut_after(after, kinds)

    def restart(self) -> None:
        """A clean stop; who cannot stop in time is killed."""
        host = self._mortal()
        if host is None or not host.is_serving:
            return
        boot = host.boots

        def too_late() -> None:
            if host.boots == boot and host.is_alive:
                host.kill()

        host.stop(lambda: None)
        self._after(_STOP_PATIENCE_MS, too_late)

    def pause(self) -> None:
        host = self._living()
        if host is None:
            return
        boot = host.boots

        def end() -> None:
            if host.is_paused and host.boots == boot:
                host.resume()

        host.pause()
        self._while(end)

    # Clocks.

    def set_clock(self) -> None:
        host = self._host()
        ahead_ms = self._rng.magnitude(10, _MOST_AHEAD_MS) * self._rng.choice((-1, 1))
        self._note("sets the clock of", host.name, ahead_ms)
        host.clock.set_wall(ahead_ms)

    def drift(self) -> None:
        host = self._host()
        ppm = self._rng.magnitude(100, 50_000) * self._rng.choice((-1, 1))
        self._note("drift of", host.name, ppm)
        host.clock.drift(ppm)

    # The network.

    def isolate(self) -> None:
        """One machine from all others: with its clients, or without."""
        self._isolate(self._host())

    def isolate_controller(self) -> None:
        host = self._world.active_controller
        if host is not None:
            self._isolate(host)

    def _isolate(self, host: Host) -> None:
        names = [one.name for one in self._world.hosts.values()]
        if self._rng.chance(50):
            names = list(self._world.network.hosts)
        cuts = [
            path
            for name in names
            if name != host.name
            for path in ((host.name, name), (name, host.name))
        ]
        self._cut(cuts)

    def split(self) -> None:
        """Two halves; clients see both."""
        names = [host.name for host in self._world.hosts.values()]
        here = {name for name in names if self._rng.chance(50)}
        self._cut(
            [(one, other) for one in names for other in names if (one in here) != (other in here)]
        )

    def cut_one_way(self) -> None:
        self._cut([self._pair()])

    def cut_pair(self) -> None:
        """Two do not see each other, everybody else sees both."""
        one, other = self._pair()
        self._cut([(one, other), (other, one)])

    def _cut(self, paths: list[tuple[str, str]]) -> None:
        network = self._world.network
        for path in paths:
            network.cut(*path)

        def mend() -> None:
            for path in paths:
                network.mend(*path)

        self._while(mend)

    def break_connections(self) -> None:
        self._world.network.break_connections(*self._pair())

    def half_open(self) -> None:
        self._world.network.half_open(*self._pair(), self._rng.magnitude(*_LASTS_MS))

    def slow_link(self) -> None:
        network, path = self._world.network, self._pair()
        latency = self._rng.choice(_LATENCIES)
        self._note("slows", *path, latency)
        network.slow(latency, *path)
        self._while(lambda: network.usual(*path))

    def slow_network(self) -> None:
        latency = self._rng.choice(_LATENCIES[:3])
        self._note("slows the network", latency)
        self._world.network.slow(latency)
        self._while(self._world.network.usual)

    # Disks.

    def slow_disk(self) -> None:
        host = self._host()
        host.disk_latency_ms = self._rng.choice(_DISK_LATENCIES_MS)
        self._note("slows the disk of", host.name, host.disk_latency_ms)

        def end() -> None:
            host.disk_latency_ms = 0

        self._while(end)

    def fail_disk(self) -> None:
        """One operation soon fails, in one of the directories."""
        host = self._mortal()
        if host is not None:
            kind = self._rng.choice(_FAILS)
            path = self._rng.choice(host.settings["log.dirs"].split(","))
            self._note("fails", kind, "of", host.name, path)
            host.disk.fail(kind, in_path=path, nth=self._rng.magnitude(1, 50))


TROUBLES: Final[dict[str, Callable[[Nemesis], None]]] = {
    "kill": Nemesis.kill,
    "kill-leader": Nemesis.kill_leader,
    "kill-controller": Nemesis.kill_controller,
    "crash": Nemesis.crash,
    "crash-all": Nemesis.crash_all,
    "die-at-a-change": Nemesis.die_at_a_change,
    "restart": Nemesis.restart,
    "pause": Nemesis.pause,
    "set-clock": Nemesis.set_clock,
    "drift": Nemesis.drift,
    "isolate": Nemesis.isolate,
    "isolate-controller": Nemesis.isolate_controller,
    "split": Nemesis.split,
    "cut-one-way": Nemesis.cut_one_way,
    "cut-pair": Nemesis.cut_pair,
    "break": Nemesis.break_connections,
    "half-open": Nemesis.half_open,
    "slow-link": Nemesis.slow_link,
    "slow-network": Nemesis.slow_network,
    "slow-disk": Nemesis.slow_disk,
    "fail-disk": Nemesis.fail_disk,
}
