"""Which way a connection's requests take, by what its listener speaks.

PLAINTEXT, SSL             dispatch, which pays for nothing
SASL_PLAINTEXT, SASL_SSL   a gate of its own (sasl_gate.py), then dispatch
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.dispatch import dispatch
from kafkapy.broker.requests.request import Answer, Call, Peer

if TYPE_CHECKING:
    from kafkapy.broker.node.node import Node

Dispatch = Callable[[memoryview, Peer], tuple[Call[Any], Answer]]


def gate_of(node: "Node", listener: str) -> Callable[[Peer], Dispatch]:
    """What makes the dispatch of each connection of this listener."""
    gate = _gate_of(node, listener)
    on_connection = node.on_connection
    if on_connection is None:
        return gate

    def told(peer: Peer) -> Dispatch:
        on_connection(peer)
        return gate(peer)

    return told


def _gate_of(node: "Node", listener: str) -> Callable[[Peer], Dispatch]:
    if not node.config.listening.protocol_of(listener).has_sasl:
        shared: Dispatch = partial(dispatch, node)
        return lambda peer: shared
    from kafkapy.broker.config.security.listener_security import ListenerSecurity
    from kafkapy.broker.security.mechanisms import ServerMechanisms
    from kafkapy.broker.security.sasl_gate import SaslGate

    security = ListenerSecurity(node.config, listener)
    mechanisms = ServerMechanisms(node, security)
    return lambda peer: SaslGate(node, security, mechanisms, peer).serve


def first_frame_bytes(node: "Node", listener: str) -> int:
    """How long a frame may be before its sender is known."""
    if not node.config.listening.protocol_of(listener).has_sasl:
        return node.config.socket_request_max_bytes
    from kafkapy.broker.config.security.listener_security import ListenerSecurity

    return ListenerSecurity(node.config, listener).max_receive_bytes
