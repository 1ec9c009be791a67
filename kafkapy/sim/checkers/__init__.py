"""Jepsen's Kafka checkers as a library: histories in, anomalies out."""

from kafkapy.sim.checkers.every import ALL, check
from kafkapy.sim.checkers.history import (
    Anomaly,
    Assigned,
    History,
    Operation,
    Outcome,
    Poll,
    Read,
    Send,
)

__all__ = [
    "ALL",
    "Anomaly",
    "Assigned",
    "History",
    "Operation",
    "Outcome",
    "Poll",
    "Read",
    "Send",
    "check",
]
