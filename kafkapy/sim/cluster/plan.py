"""What a run of a cluster world is made of, drawn from its seed.

Each seed leaves some troubles and some clients out (swarm testing): a bug that needs ten pauses
in a row is not found where every second trouble is a kill. A plan can be made smaller
(`shrinking.py`) and is still a plan; a run is a function of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from kafkapy.sim.cluster.world import COMBINED
from kafkapy.sim.world.rng import SimRng

SECONDS: Final = 60
LEAST_NODES: Final = 3
_TROUBLE_PERCENT: Final = 45
_CLIENTS_PERCENT: Final = 70
# Later than the others, and in less than half of the seeds: all others stay the runs they were.
_RARER_PERCENT: Final = {"streams": 40}
_ONE_REPLICA_PERCENT: Final = 15
_FLUSHES_PERCENT: Final = 50
_DYNAMIC_VOTERS_PERCENT: Final = 50
_SLICED_PERCENT: Final = 50

_SETTINGS: Final = {
    "min.insync.replicas": "2",
    "replica.lag.time.max.ms": "3000",  # who is cut off for as long is out of the ISR
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "group.min.session.timeout.ms": "500",
    "group.initial.rebalance.delay.ms": "300",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "200",
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.state.topic.prune.interval.ms": "7000",
    "share.coordinator.snapshot.update.records.per.snapshot": "20",
    "group.share.session.timeout.ms": "3000",
    "group.share.min.session.timeout.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.assignment.interval.ms": "200",
    "group.share.initialize.retry.interval.ms": "2000",
    "group.streams.session.timeout.ms": "2000",
    "group.streams.min.session.timeout.ms": "500",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.assignment.interval.ms": "200",
    "group.streams.initial.rebalance.delay.ms": "300",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """`roles` of each node; `seconds` of trouble; `pace_ms`: from one trouble to the next, at
    most."""

    seed: int
    roles: tuple[str, ...]
    seconds: int = SECONDS
    troubles: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    pace_ms: int = 4_000
    replication_factor: int = 3
    # Whatever is acknowledged is on the disk of everybody who has it.
    flushes: bool = True
    # The metadata log says who votes, not the configuration (KIP-853).
    has_dynamic_voters: bool = False
    # Long work is done in the smallest slices, and each takes its time (cluster/slices.py).
    is_sliced: bool = False
    more_settings: tuple[tuple[str, str], ...] = ()

    @property
    def settings(self) -> dict[str, str]:
        """Of every node."""
        copies = str(self.replication_factor)
        settings = {
            **_SETTINGS,
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "share.coordinator.state.topic.replication.factor": copies,
        }
        if self.flushes:
            settings["log.flush.interval.messages"] = "1"
        return settings | dict(self.more_settings)

    def without_trouble(self, name: str) -> "Plan":
        return replace(self, troubles=tuple(one for one in self.troubles if one != name))

    def without_clients(self, name: str) -> "Plan":
        return replace(self, clients=tuple(one for one in self.clients if one != name))

    def __str__(self) -> str:
        kinds = {"broker,controller": "both", "broker": "broker", "controller": "controller"}
        return (
            f"{' '.join(kinds[role] for role in self.roles)}; {self.seconds} s; "
            f"{self.replication_factor} replicas{', flushed' if self.flushes else ''}"
            f"{', dynamic voters' if self.has_dynamic_voters else ''}"
            f"{', sliced' if self.is_sliced else ''}; "
            f"troubles: {' '.join(self.troubles) or 'none'}; "
            f"clients: {' '.join(self.clients) or 'none'}"
        )


def draw_plan(
    seed: int,
    nodes: int,
    troubles: Iterable[str],
    clients: Iterable[str],
    seconds: int = SECONDS,
) -> Plan:
    rng = SimRng(seed).fork("plan")
    roles = draw_roles(rng.fork("roles"), nodes)
    brokers = sum("broker" in one for one in roles)
    copies = 1 if rng.fork("alone").chance(_ONE_REPLICA_PERCENT) else min(3, brokers)
    return Plan(
        seed,
        roles,
        seconds,
        tuple(one for one in troubles if rng.fork(one).chance(_TROUBLE_PERCENT)),
        tuple(
            one
            for one in clients
            if rng.fork(one).chance(_RARER_PERCENT.get(one, _CLIENTS_PERCENT))
        ),
        rng.fork("pace").choice((1_000, 4_000, 10_000)),
        copies,
        # With one replica there is nobody else who has it.
        copies == 1 or rng.fork("flushes").chance(_FLUSHES_PERCENT),
        rng.fork("voters").chance(_DYNAMIC_VOTERS_PERCENT),
        rng.fork("sliced").chance(_SLICED_PERCENT),
    )


def draw_roles(rng: SimRng, nodes: int) -> tuple[str, ...]:
    """Three controllers or more, if there are as many nodes."""
    apart = ("controller",) * LEAST_NODES + ("broker",) * (nodes - LEAST_NODES)
    layouts: list[tuple[str, ...]] = [(COMBINED,) * nodes]
    if nodes > LEAST_NODES:
        layouts.append((COMBINED,) * LEAST_NODES + ("broker",) * (nodes - LEAST_NODES))
    if nodes > 4:
        layouts.append(apart)
    return rng.choice(layouts)
