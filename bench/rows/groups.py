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


_SETTLED = Figure("settled_seconds", "s until settled")


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
)
