"""Ways to the controller, for the conformance test: each in a kit that can win and lose."""

from types import SimpleNamespace
from typing import Any, Protocol

from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.broker.controller.local import LocalController
from kafkapy.broker.requests.dispatch import encode
from kafkapy.broker.requests.request import Answer, Call, Later, Peer
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_response_head, request_head
from kafkapy.protocol.messages import decode_request, decode_response, encode_request
from tests.kraft.controller.fakes import Cluster


class LinkKit(Protocol):
    """A controller, and one link to it. The controller leads at first."""

    link: ControllerLink
    cluster: Cluster

    def lose(self) -> None:
        """The controller resigns; no other leads."""

    def win(self) -> None:
        """It leads again."""

    def settle(self) -> None:
        """Until every question that can be answered is."""


class LocalKit:
    """In this process."""

    def __init__(self) -> None:
        self.cluster = Cluster(node_id=1)
        role: Any = SimpleNamespace(controller=self.cluster.controller, authorizer=None)
        self._local = LocalController(role)
        self.link: ControllerLink = self._local

    def lose(self) -> None:
        self.cluster.controller.resign()

    def win(self) -> None:
        self.cluster.controller.lead(self.cluster.log.image(), ())
        self._local.activated()

    def settle(self) -> None:
        self.cluster.clock.run_soon()


# The link over the wire joins here.
KITS: tuple[type[LinkKit], ...] = (LocalKit,)


def forwarded(kit: LinkKit, api: ApiKey, version: int, body: dict[str, Any]) -> Any:
    """What a client hears whose broker forwarded this; its frame is not kept."""
    request = bytearray(
        request_head(api, version, 7, "client") + encode_request(api, version, body)
    )
    asked = decode_request(api, version, encode_request(api, version, body))
    peer = Peer("PLAINTEXT", "127.0.0.1", principal="User:alice")
    call = Call(api, version, 7, "client", asked, peer, kit.cluster.clock.now())
    answer = kit.link.forward(memoryview(request), call)
    request[:] = bytes(len(request))
    kit.settle()
    return _decoded(call, answer)


def _decoded(call: Call[Any], answer: Answer) -> Any:
    if isinstance(answer, Later):
        assert answer.is_resolved, "never answered"
        answer = answer.answer
    data = b"".join(part for part in encode(call, answer) if isinstance(part, bytes))
    view = memoryview(data)[4:]
    _, at = read_response_head(call.api_key, call.version, view)
    return decode_response(call.api_key, call.version, view[at:])
