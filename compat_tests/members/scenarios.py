"""What happens to groups. Every scenario ends with the same verdict (README.md)."""

import signal
from collections.abc import Callable
from typing import NamedTuple

from compat_tests.members.world import GroupWorld
from compat_tests.targets import Server


def scale(world: GroupWorld) -> None:
    """One member, four, two."""
    world.create(partitions=8)
    world.load.on(world.partitions)
    first = world.join()
    world.wait_for_split([first])
    four = [first, *(world.join() for _ in range(3))]
    world.wait_for_split(four)
    world.wait_for_news(four)
    for gone in four[2:]:
        gone.close()
    world.wait_for_split(four[:2])
    world.wait_for_news(four[:2])
    world.finish()


def killed(world: GroupWorld) -> None:
    """A member dies without a word; after its session the others have its partitions."""
    world.create(partitions=4)
    world.load.on(world.partitions)
    members = [world.join(), world.join()]
    world.wait_for_split(members)
    world.wait_for_news(members)
    members[1].kill()
    world.wait_for_split(members[:1])
    world.finish()


def static_restart(world: GroupWorld) -> None:
    """A static member is back within its session: nobody else notices."""
    world.create(partitions=4)
    world.load.on(world.partitions)
    stays = world.join(instance="one", session_ms=30000)
    goes = world.join(instance="two", session_ms=30000)
    world.wait_for_split([stays, goes])
    world.wait_for_news([goes])
    share = set(goes.owned)
    changes = len(stays.assigned), len(stays.revoked)
    if world.kind.protocol == "classic":
        goes.kill()
    else:
        goes.close()  # it has to say that it will be back
    back = world.join(instance="two", session_ms=30000)
    world.wait_for("its partitions are its own again", lambda: back.owned == share)
    world.wait_for_news([stays, back])
    after = len(stays.assigned), len(stays.revoked)
    assert after == changes, ("a rebalance", stays.assigned, stays.revoked, stays.failures)
    world.finish()


def keeps_receiving(world: GroupWorld) -> None:
    """While a rebalance cannot end, because one member is frozen, another goes on reading
    the partitions that it keeps."""
    world.create(partitions=6)
    world.load.on(world.partitions)
    reads, frozen = world.join(session_ms=10000), world.join(session_ms=10000)
    world.wait_for_split([reads, frozen])
    world.wait_for_news([reads, frozen])
    before = set(reads.owned)
    frozen.freeze()
    third = world.join(session_ms=10000)
    world.wait_for("the group rebalances", lambda: not world.is_stable())
    for partition in sorted(reads.owned):
        world.wait_for_record(reads, partition)
    frozen.thaw()
    world.wait_for_split([reads, frozen, third])
    kept = before & reads.owned
    assert kept, "a fair share of six is two"
    if not world.is_disturbed:  # a member may lose its place while its coordinator moves
        for lost in reads.revoked:
            assert not lost & kept, f"what it keeps was taken from {reads}"
    world.finish()


def pattern(world: GroupWorld) -> None:
    """A subscription by pattern takes up a topic that appears."""
    world.create(partitions=2, suffix="-1")
    world.load.on(world.partitions)
    by_pattern = {"topics": None, "pattern": f"^{world.topic}-.*"}
    members = [world.join(**by_pattern), world.join(**by_pattern)]
    world.wait_for_split(members)
    world.create(partitions=4, suffix="-2")
    world.load.on(world.partitions)
    world.wait_for_split(members)
    world.wait_for_news(members)
    world.finish()


def growth(world: GroupWorld) -> None:
    """A topic gets more partitions."""
    world.create(partitions=2)
    world.load.on(world.partitions)
    members = [world.join(), world.join()]
    world.wait_for_split(members)
    world.grow(6)
    world.wait_for_split(members)
    world.load.on(world.partitions)
    world.wait_for_news(members)
    world.finish()


def server_restart(world: GroupWorld, server: Server, how: signal.Signals) -> None:
    """The node goes and comes back: the members are still its members."""
    world.create(partitions=4)
    world.load.on(world.partitions)
    members = [world.join(session_ms=20000), world.join(session_ms=20000)]
    world.wait_for_split(members)
    world.wait_for_news(members)
    world.look()
    server.stop(how=how)
    server.start()
    world.wait_for("the group is there", world.is_stable)
    world.wait_for_split(members)
    world.wait_for_news(members)
    world.finish()


class Scenario(NamedTuple):
    play: Callable[[GroupWorld], None]
    behaviour: str
    needs_cooperation: bool = False
    needs_return: bool = False


SCENARIOS = {
    "scale": Scenario(scale, "group-scale"),
    "killed": Scenario(killed, "group-killed"),
    "static-restart": Scenario(static_restart, "group-static-restart", needs_return=True),
    "keeps-receiving": Scenario(keeps_receiving, "group-keeps-receiving", needs_cooperation=True),
    "pattern": Scenario(pattern, "group-pattern"),
    "growth": Scenario(growth, "group-growth"),
}
