"""Who may have a topic's records relayed: who could do it by hand, reading here and writing there.

Relays themselves are not asked for anything: they belong to the node.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.requests.request import Call
from kafkapy.broker.security.authorizer.asking import require
from kafkapy.kraft.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import HasAuthorizer

_TARGETS: Final = frozenset(
    {"kafkapy.relay.to", "kafkapy.relay.otherwise", "kafkapy.relay.dead.letter.topic"}
)


def require_for_relay(
    node: "HasAuthorizer", call: "Call[Any]", topic: str, settings: Iterable[tuple[str, str | None]]
) -> None:
    """Refused unless this client may set these on that topic."""
    targets = {value for name, value in settings if name in _TARGETS and value}
    if targets:
        require(node, call, Operation.READ, ResourceType.TOPIC, topic)
    for target in sorted(targets):
        require(node, call, Operation.WRITE, ResourceType.TOPIC, target)
