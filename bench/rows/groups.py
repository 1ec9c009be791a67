"""Consumer groups: what heartbeats cost, how long a rebalance takes."""

from dataclasses import dataclass

from bench.row import APACHE, KAFKAPY, REQUESTS, Figure, Figures, Row
from bench.run import Run


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """Members of one large group, or of many (KIP-848), join and settle; then they send
    heartbeats as fast as they are answered. What one costs is the broker's CPU by it."""

    members: int
    groups: int = 1
    partitions: int = 1
    connections: int = 32
    full_seconds: float = 10

    def __call__(self, run: Run) -> Figures:
        topic = run.topic(self.partitions)
        with run.costs() as costs:
            sent = run.client(
                "heartbeats",
                topic=topic,
                members=self.members,
                groups=self.groups,
                connections=self.connections,
                seconds=run.seconds(self.full_seconds),
            )
        return {
            **costs.figures(sent["records"], sent["seconds"]),
            "settled_seconds": sent["settled_seconds"],
        }


@dataclass(frozen=True, slots=True)
class Rebalance:
    """The members of a classic group all join at once; then one of them leaves. A member hears
    of a rebalance by its next heartbeat, `heartbeat_ms` after the last."""

    members: int
    heartbeat_ms: int = 100

    def __call__(self, run: Run) -> Figures:
        topic = run.topic(self.members)
        with run.costs() as costs:
            took = run.client(
                "rebalance", topic=topic, members=self.members, heartbeat_ms=self.heartbeat_ms
            )
        return {**costs.figures(self.members), **took}


_SETTLED = Figure("settled_seconds", "s until settled")
_JOINED = Figure("join_seconds", "s until all are in")
_LEFT = Figure("leave_seconds", "s until all know that one left")


ROWS = (
    Row(
        "heartbeats-500",
        "heartbeats of a group of 500, 32 connections",
        Heartbeats(500, partitions=500),
        figures=(REQUESTS, _SETTLED),
        targets=(KAFKAPY, APACHE),
    ),
    Row(
        "heartbeats-1000-groups",
        "heartbeats of 1,000 groups of one member, 32 connections",
        Heartbeats(1000, groups=1000),
        figures=(REQUESTS, _SETTLED),
        targets=(KAFKAPY, APACHE),
    ),
    *(
        Row(
            f"rebalance-{members}",
            f"a classic group of {members} members",
            Rebalance(members),
            figures=(_JOINED, _LEFT),
            targets=(KAFKAPY, APACHE),
        )
        for members in (10, 100, 500)
    ),
)
