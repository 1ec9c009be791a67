"""Machines: processes die, the power goes, somebody stops or suspends them, sets their clocks."""

from functools import partial
from typing import Final
from uuid import UUID

from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.nemesis import SOON_MS, Nemesis
from kafkapy.sim.world.power import IN_A_TURN

# Further ahead of a broker's clock than an hour no record may be.
_MOST_AHEAD_MS: Final = 25 * 60 * 1000
_STOP_PATIENCE_MS: Final = 30_000
_CHANGES: Final = (1, 400)
_LOOPS: Final = (3, 12)
_LIVES_MS: Final = (5, 500)
# How long a leader is waited for, and how long it then leads.
_FOLLOWS_WITHIN_MS: Final = 1_000
_LEADS_MS: Final = (1, 300)


def kill(nemesis: Nemesis) -> None:
    _kill(nemesis, nemesis.mortal())


def kill_controller(nemesis: Nemesis) -> None:
    _kill(nemesis, nemesis.world.active_controller)


def kill_leader(nemesis: Nemesis) -> None:
    """Of some partition."""
    found = _some_partition(nemesis)
    if found is not None:
        _kill(nemesis, _leader(nemesis, *found))


def kill_leaders(nemesis: Nemesis) -> None:
    """Of some partition, and whoever leads it next, as soon as it has begun to."""
    found = _some_partition(nemesis)
    if found is None:
        return
    first = _leader(nemesis, *found)
    left = _FOLLOWS_WITHIN_MS

    def is_followed() -> None:
        nonlocal left
        left -= 1
        second = _leader(nemesis, *found)
        if second not in (None, first):
            nemesis.after(nemesis.rng.magnitude(*_LEADS_MS), lambda: _kill(nemesis, second))
        elif left:
            nemesis.after(1, is_followed)

    _kill(nemesis, first)
    is_followed()


def _some_partition(nemesis: Nemesis) -> tuple[UUID, int] | None:
    topics = nemesis.world.image_of_controller().topics_by_id
    found = [(topic.id, index) for topic in topics.values() for index in topic.partitions]
    return nemesis.rng.choice(found) if found else None


def _leader(nemesis: Nemesis, topic_id: UUID, index: int) -> Host | None:
    """Whom the active controller knows to lead now."""
    topic = nemesis.world.image_of_controller().topics_by_id.get(topic_id)
    return None if topic is None else nemesis.world.hosts.get(topic.partitions[index].leader)


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
        nemesis.after(SOON_MS, partial(host.power.cut_after, None))


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
