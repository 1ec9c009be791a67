"""A node as its own client: any broker is asked by the API, this one without a socket.

    another broker    over the connections between brokers, under this node's name; what may wait
                      there, over those of the relays alone
    this one          its handler, as if the request had come by a socket; the answer after the
                      turn's write, as there

Who leads a target asks the transaction's coordinator before it appends, and so does a group's
coordinator, and that may be this node. Answers of one connection come in order: would those
questions and what waits for them share connections, two nodes that relay to each other could each
wait for the other.

Here nobody asks who asks (`Peer.is_this_node`) and nothing is held against a quota.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.requests.dispatch import dispatch_freely, encode_or_hang_up
from kafkapy.broker.requests.request import Call, Hangup, Later, Peer, Resolved
from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.core.seams import Answered, OtherNodes
from kafkapy.core.turn import Turn
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request

if TYPE_CHECKING:
    from kafkapy.broker.node.node import Node

# No client can have this principal: those of clients begin with their type and a colon.
_PRINCIPAL: Final = "this node"
_HOST: Final = "here"
_SIZE_BYTES: Final = 4
# Answered when a transaction's coordinator was asked.
_MAY_WAIT: Final = frozenset({ApiKey.PRODUCE, ApiKey.TXN_OFFSET_COMMIT})


class NodeCalls:
    def __init__(
        self,
        node: "Node",
        other_nodes: OtherNodes,
        own: OtherNodes,
        turn: Turn,
        *,
        client_id: str,
        listener: str,
    ) -> None:
        """`own`: over connections that nobody else has."""
        self._node = node
        self._other_nodes = other_nodes
        self._own = own
        self._turn = turn
        self._client_id = client_id
        self._peer = Peer(listener, _HOST, principal=_PRINCIPAL, is_this_node=True)

    def call(
        self,
        node_id: int,
        api: ApiKey,
        version: int,
        body: Mapping[str, Any],
        timeout_ms: int,
        then: Answered,
    ) -> None:
        """`then` gets the decoded response, or Refused(NETWORK_EXCEPTION) if there is none."""
        if node_id != self._node.node_id:
            others = self._own if api in _MAY_WAIT else self._other_nodes
            others.call(node_id, api, version, body, timeout_ms, then)
            return
        request = request_head(api, version, 0, self._client_id)
        request += encode_request(api, version, body)
        try:
            call, answer = dispatch_freely(self._node, memoryview(request), self._peer)
        except (Hangup, Corrupt) as failed:
            then(Refused(ErrorCode.NETWORK_EXCEPTION, str(failed)))
            return
        if isinstance(answer, Later):
            answer.when_resolved(lambda later: self._answered(api, call, later.answer, then))
        else:
            self._answered(api, call, answer, then)

    def _answered(self, api: ApiKey, call: Call[Any], answer: Resolved, then: Answered) -> None:
        try:
            parts = encode_or_hang_up(self._node.journal, call, answer)
        except Hangup as failed:
            then(Refused(ErrorCode.NETWORK_EXCEPTION, str(failed)))
            return
        data = b"".join(part for part in parts if isinstance(part, bytes))
        view = memoryview(data)[_SIZE_BYTES:]
        _, body_at = read_response_head(api, call.version, view)
        response = decode_response(api, call.version, view[body_at:])
        self._turn.answer(lambda: then(response))
