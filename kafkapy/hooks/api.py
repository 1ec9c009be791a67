"""The kinds of hooks. One is a class with one method, made once per node, without arguments.

Everything is called on the node's loop, one call at a time: nothing else is served meanwhile. So a
hook computes and returns; it waits for nothing (no network, no locks, no disk).
"""

from typing import NamedTuple

from kafkapy.protocol.batches.records import Headers, Record

__all__ = [
    "Append",
    "AppendHook",
    "Asked",
    "AuthorizeHook",
    "Client",
    "ConnectionHook",
    "Headers",
    "Place",
    "ProduceHook",
    "Record",
    "Refuse",
    "RelayHook",
    "ViewHook",
]


class Refuse(Exception):
    """Raised by a ProduceHook: this record may not be in the topic. Its producer is told the
    sentence."""


class Place(NamedTuple):
    """Of a record. For a view's hook the topic is the source."""

    topic: str
    partition: int


class Client(NamedTuple):
    """Who is connected. `principal` as ACLs have it: User:alice."""

    principal: str
    host: str
    listener: str


class Asked(NamedTuple):
    """What somebody wants to do: WRITE to the TOPIC named orders. `is_allowed`: what the ACLs
    say."""

    operation: str
    resource_type: str
    resource_name: str
    is_allowed: bool


class Append(NamedTuple):
    """Offsets from `first_offset` to before `end_offset` can be read now."""

    first_offset: int
    end_offset: int
    size: int


class ProduceHook:
    """Sees each record before it is written. `kafkapy.hook.produce` of a topic."""

    def produced(self, record: Record, place: Place) -> Record:
        """The record to be written: this one, or another made of it (`record._replace(value=...)`).
        Its offset is its place in its batch. Refuse: its batch is not written."""
        raise NotImplementedError


class ViewHook:
    """Says which records a view shows. `kafkapy.hook.view` of a view."""

    def shows(self, record: Record, place: Place) -> bool:
        """The same answer for the same record, always: answers are remembered."""
        raise NotImplementedError


class RelayHook:
    """Says what a relay makes of a record. `kafkapy.hook.relay` of a topic."""

    def relayed(self, record: Record, place: Place) -> Record | None:
        """The record that leaves; None: none does."""
        raise NotImplementedError


class AuthorizeHook:
    """Has the last word on what clients may do. `kafkapy.hook.authorize` of a node."""

    def allows(self, client: Client, asked: Asked) -> bool:
        """Super users and the node itself are not asked about."""
        raise NotImplementedError


class AppendHook:
    """Hears what can be read that could not before. `kafkapy.hook.append` of a topic."""

    def appended(self, place: Place, append: Append) -> None:
        """Several batches may be told as one."""
        raise NotImplementedError


class ConnectionHook:
    """Hears of clients' connections. `kafkapy.hook.connection` of a node."""

    def connected(self, client: Client) -> None:
        """Who it is may not be known yet: principal User:ANONYMOUS before a login."""

    def disconnected(self, client: Client) -> None:
        """The principal is the one that logged in."""
