"""Consumer groups: what heartbeats cost, how long a rebalance takes."""

from dataclasses import dataclass

from bench.row import APACHE, KAFKAPY, REQUESTS, Figures, Row
from bench.run import Run


@dataclass(frozen=True, slots=True)
class Heartbeats:
    """The members of one large group (KIP-848) send heartbeats as fast as they are answered."""

    members: int
    connections: int = 32
    full_seconds: float = 10

    def __call__(self, run: Run) -> Figures:
        topic = run.topic()
        with run.costs() as costs:
            sent = run.client(
                "heartbeats",
                topic=topic,
                members=self.members,
                connections=self.connections,
                seconds=run.seconds(self.full_seconds),
            )
        return costs.figures(sent["records"], sent["seconds"])


ROWS = (
    Row(
        "heartbeats-500",
        "heartbeats of a group of 500, 32 connections",
        Heartbeats(500),
        figures=(REQUESTS,),
        targets=(KAFKAPY, APACHE),
    ),
)
