"""Machines: processes die, the power goes, somebody stops or suspends them, sets their clocks."""

from typing import Final

from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.nemesis import Nemesis
from kafkapy.sim.world.power import IN_A_TURN

# Further ahead of a broker's clock than an hour no record may be.
_MOST_AHEAD_MS: Final = 25 * 60 * 1000
_STOP_PATIENCE_MS: Final = 30_000
_CHANGES: Final = (1, 400)
_LOOPS: Final = (3, 12)
_LIVES_MS: Final = (5, 500)


def kill(nemesis: Nemesis) -> None:
    _kill(nemesis, nemesis.mortal())


def kill_controller(nemesis: Nemesis) -> None:
    _kill(nemesis, nemesis.world.active_controller)


def kill_leader(nemesis: Nemesis) -> None:
    """Of some partition."""
    found = [
        state.leader
        for topic in nemesis.world.image_of_controller().topics_by_id.values()
        for state in topic.partitions.values()
    ]
    if found:
        _kill(nemesis, nemesis.world.hosts.get(nemesis.rng.choice(found)))


def _kill(nemesis: Nemesis, host: Host | None) -> None:
    if host is not None and host.is_quiet and not nemesis.has_lost_something:
        host.kill()


def crash(nemesis: Nemesis) -> None:
    """The power of one."""
    host = nemesis.mortal()
    if host is not None and (nemesis.flushes or nemesis.all_are_well()):
        nemesis.has_lost_something = not nemesis.flushes
        host.crash()


def crash_all(nemesis: Nemesis) -> None:
    """The power of the whole room."""
    if nemesis.flushes and not nemesis.has_lost_something and nemesis.rng.chance(30):
        for host in nemesis.world.hosts.values():
            if host.is_alive:
                host.crash()


def die_at_a_change(nemesis: Nemesis) -> None:
    """In the middle of what it does: at the nth change of the disk, or the nth answer."""
    host = nemesis.mortal()
    if host is not None:
        host.is_killed_when_cut = nemesis.rng.chance(50) or not nemesis.flushes
        kinds = IN_A_TURN if nemesis.rng.chance(60) else frozenset[str]()
        after = nemesis.rng.magnitude(*_CHANGES)
        nemesis.note("will die", host.name, after, " ".join(sorted(kinds)))
        host.power.cut_after(after, kinds)


def crash_loop(nemesis: Nemesis) -> None:
    """It dies as soon as it has begun, and again, under a supervisor that starts it at once."""
    host = nemesis.living()
    left = nemesis.rng.between(*_LOOPS)

    def again() -> None:
        nonlocal left
        left -= 1
        if left and host is not None and host.is_quiet and not nemesis.has_lost_something:
            host.kill()
            host.start()
            nemesis.after(nemesis.rng.magnitude(*_LIVES_MS), again)

    again()


def restart(nemesis: Nemesis) -> None:
    """A clean stop; who cannot stop in time is killed."""
    host = nemesis.mortal()
    if host is None or not host.is_serving:
        return
    boot = host.boots

    def too_late() -> None:
        if host.boots == boot and host.is_alive:
            host.kill()

    host.stop(lambda: None)
    nemesis.after(_STOP_PATIENCE_MS, too_late)


def pause(nemesis: Nemesis) -> None:
    host = nemesis.living()
    if host is None:
        return
    boot = host.boots

    def end() -> None:
        if host.is_paused and host.boots == boot:
            host.resume()

    host.pause()
    nemesis.lasts(end)


def set_clock(nemesis: Nemesis) -> None:
    host = nemesis.host()
    ahead_ms = nemesis.rng.magnitude(10, _MOST_AHEAD_MS) * nemesis.rng.choice((-1, 1))
    nemesis.note("sets the clock of", host.name, ahead_ms)
    nemesis.ahead_ms = max(nemesis.ahead_ms, ahead_ms)
    host.clock.set_wall(ahead_ms)


def drift(nemesis: Nemesis) -> None:
    host = nemesis.host()
    ppm = nemesis.rng.magnitude(100, 50_000) * nemesis.rng.choice((-1, 1))
    nemesis.note("drift of", host.name, ppm)
    host.clock.drift(ppm)
