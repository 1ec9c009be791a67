"""The kinds of hooks. One is a class with one method, made once per node, without arguments.

Everything is called on the node's loop, one call at a time: nothing else is served meanwhile. So a
hook computes and returns; it waits for nothing (no network, no locks, no disk).
"""

from typing import NamedTuple

from kafkapy.protocol.records import Headers, Record

__all__ = ["Headers", "Place", "ProduceHook", "Record", "Refuse"]


class Refuse(Exception):
    """Raised by a ProduceHook: this record may not be in the topic. Its producer is told the
    sentence."""


class Place(NamedTuple):
    """Of a record."""

    topic: str
    partition: int


class ProduceHook:
    """Sees each record before it is written. `kafkapy.hook.produce` of a topic."""

    def produced(self, record: Record, place: Place) -> Record:
        """The record to be written: this one, or another made of it (`record._replace(value=...)`).
        Its offset is its place in its batch. Refuse: its batch is not written."""
        raise NotImplementedError
