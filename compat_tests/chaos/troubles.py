"""What is done to the cluster: to whom, for how long, and how it is undone."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, NamedTuple

from compat_tests.chaos.asking import GROUP, TRANSACTION, coordinator_of, leader_of
from compat_tests.chaos.cluster import Cluster
from compat_tests.waiting import wait_for

# What the load writes to, and the group and the transactional id that it uses.
TOPIC: Final = "input"
CLASSIC_GROUP: Final = "classic-readers"
COPY: Final = "copy"

Victim = Callable[[Cluster], int]


def leader(cluster: Cluster) -> int:
    return wait_for("a leader", lambda: leader_of(cluster.bootstrap, TOPIC, 0))


def active_controller(cluster: Cluster) -> int:
    state = wait_for("an active controller", cluster.state)
    return state.controller_id


def group_coordinator(cluster: Cluster) -> int:
    asked = lambda: coordinator_of(cluster.bootstrap, GROUP, CLASSIC_GROUP)  # noqa: E731  # short
    return wait_for("a group's coordinator", asked)


def transaction_coordinator(cluster: Cluster) -> int:
    asked = lambda: coordinator_of(cluster.bootstrap, TRANSACTION, COPY)  # noqa: E731  # short
    return wait_for("a transaction's coordinator", asked)


# While the `with` lasts, the trouble does.


@contextmanager
def nothing(cluster: Cluster, node: int) -> Iterator[None]:
    """What the load makes of a cluster that is well: the others are read beside it."""
    yield


@contextmanager
def killed(cluster: Cluster, node: int) -> Iterator[None]:
    cluster.kill(node)
    yield
    cluster.start([node])


@contextmanager
def stopped(cluster: Cluster, node: int) -> Iterator[None]:
    cluster.stop([node])
    yield
    cluster.start([node])


@contextmanager
def paused(cluster: Cluster, node: int) -> Iterator[None]:
    cluster.pause(node)
    yield
    cluster.resume(node)


@contextmanager
def cut_off(cluster: Cluster, node: int) -> Iterator[None]:
    cluster.cut_off(node)
    yield
    cluster.heal()


@contextmanager
def not_heard(cluster: Cluster, node: int) -> Iterator[None]:
    """It hears everybody."""
    cluster.cut_off(node, hears=True)
    yield
    cluster.heal()


@contextmanager
def partly_cut(cluster: Cluster, node: int) -> Iterator[None]:
    """From the active controller, or from the next node if it is that; the third sees both."""
    controller = active_controller(cluster)
    other = controller if controller != node else next(one for one in cluster.nodes if one != node)
    cluster.cut_between(node, other)
    yield
    cluster.heal()


@contextmanager
def slow(cluster: Cluster, node: int) -> Iterator[None]:
    cluster.slow_down(node, 0.1)
    yield
    cluster.heal()


@contextmanager
def broken_connections(cluster: Cluster, node: int) -> Iterator[None]:
    cluster.break_connections(node)
    yield
    cluster.break_connections(node)


@contextmanager
def full_disk(cluster: Cluster, node: int) -> Iterator[None]:
    """The node may go on without its directory, or end; room is made by a restart."""
    cluster.fill_disk(node)
    yield
    cluster.kill(node)
    cluster.start([node])


@contextmanager
def empty_disk(cluster: Cluster, node: int) -> Iterator[None]:
    cluster.kill(node)
    yield
    cluster.empty_disk(node)
    cluster.start([node])


@contextmanager
def two_killed(cluster: Cluster, node: int) -> Iterator[None]:
    """The second while the first is away: no majority is left until they come back."""
    second = next(one for one in cluster.nodes if one != node)
    cluster.kill(node)
    cluster.kill(second)
    yield
    cluster.start([node, second])


@contextmanager
def one_after_the_other(cluster: Cluster, node: int) -> Iterator[None]:
    """The second as soon as the first is in sync again."""
    second = next(one for one in cluster.nodes if one != node)
    cluster.kill(node)
    cluster.start([node])
    cluster.wait_until_whole()
    cluster.kill(second)
    yield
    cluster.start([second])


@contextmanager
def rolled(cluster: Cluster, node: int) -> Iterator[None]:
    """All, one after another, the active controller last."""
    controller = active_controller(cluster)
    for one in sorted(cluster.nodes, key=lambda one: one == controller):
        cluster.stop([one])
        cluster.start([one])
        cluster.wait_until_whole()
    yield


class Trouble(NamedTuple):
    victim: Victim
    strike: Callable[[Cluster, int], AbstractContextManager[None]]
    lasts_s: float


# Longer than a session of the defaults (9 s) where the node lives on.
ALL: Final[dict[str, Trouble]] = {
    "nothing": Trouble(leader, nothing, 4.0),
    "kill -9, a leader": Trouble(leader, killed, 4.0),
    "kill -9, the active controller": Trouble(active_controller, killed, 4.0),
    "kill -9, a group's coordinator": Trouble(group_coordinator, killed, 4.0),
    "kill -9, a transaction's coordinator": Trouble(transaction_coordinator, killed, 4.0),
    "kill -9, one after the other": Trouble(leader, one_after_the_other, 4.0),
    "kill -9, two": Trouble(leader, two_killed, 3.0),
    "stop, a leader": Trouble(leader, stopped, 3.0),
    "stop, the active controller": Trouble(active_controller, stopped, 3.0),
    "rolling restart": Trouble(leader, rolled, 0.0),
    "SIGSTOP, a leader": Trouble(leader, paused, 18.0),
    "SIGSTOP, the active controller": Trouble(active_controller, paused, 18.0),
    "cut off, a leader": Trouble(leader, cut_off, 18.0),
    "cut off, the active controller": Trouble(active_controller, cut_off, 18.0),
    "not heard, a leader": Trouble(leader, not_heard, 18.0),
    "cut from one, a leader": Trouble(leader, partly_cut, 18.0),
    "slow, a leader": Trouble(leader, slow, 5.0),
    "broken connections, a leader": Trouble(leader, broken_connections, 1.0),
    "full disk, a leader": Trouble(leader, full_disk, 5.0),
    "full disk, the active controller": Trouble(active_controller, full_disk, 5.0),
    "empty disk, a leader": Trouble(leader, empty_disk, 3.0),
}
