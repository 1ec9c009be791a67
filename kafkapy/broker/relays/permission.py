"""Who may have a topic's records relayed: who could do it by hand, reading here and writing there.

    CreateTopics, AlterConfigs    the targets that are named
    IncrementalAlterConfigs       those, and the ones there are, if anything of the relay is set:
                                  another condition relays other records to the same topic

Relays themselves are not asked for anything: they belong to the node.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.relays.settings import RELAY_KEYS
from kafkapy.broker.requests.request import Call
from kafkapy.broker.security.authorizer.asking import require
from kafkapy.kraft.acls import Operation, ResourceType

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import HasAuthorizer

_TARGETS: Final = frozenset(
    {"kafkapy.relay.to", "kafkapy.relay.otherwise", "kafkapy.relay.dead.letter.topic"}
)
_NOTHING: Final[Mapping[str, str]] = {}


def require_for_relay(
    node: "HasAuthorizer",
    call: "Call[Any]",
    topic: str,
    settings: Iterable[tuple[str, str | None]],
    standing: Mapping[str, str] = _NOTHING,
) -> None:
    """Refused unless this client may set these on that topic, whose other settings stand."""
    told = dict(settings)
    if RELAY_KEYS.isdisjoint(told):
        return
    after = {**standing, **told}
    targets = {value for name in _TARGETS if (value := after.get(name))}
    if targets:
        require(node, call, Operation.READ, ResourceType.TOPIC, topic)
    for target in sorted(targets):
        require(node, call, Operation.WRITE, ResourceType.TOPIC, target)
