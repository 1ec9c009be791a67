"""Who may say what a view shows: who could read its source by himself.

Who reads a view need not: that is what views are for.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Call
from kafkapy.broker.security.authorizer.asking import require
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.views import VIEW_OF

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import HasAuthorizer


def require_for_view(
    node: "HasAuthorizer", call: "Call[Any]", settings: Iterable[tuple[str, str | None]]
) -> None:
    """Refused unless this client may make a topic with these settings, if that is a view."""
    for name, source in settings:
        if name == VIEW_OF and source:
            require(node, call, Operation.READ, ResourceType.TOPIC, source)


def require_to_alter_view(
    node: "HasAuthorizer", call: "Call[Any]", standing: Mapping[str, str]
) -> None:
    """Refused unless this client may set anything of a topic that has these settings, if it is a
    view: whatever is set or left out may let it show more."""
    source = standing.get(VIEW_OF)
    if source:
        require(node, call, Operation.READ, ResourceType.TOPIC, source)
