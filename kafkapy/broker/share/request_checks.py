"""What is checked of every request of a share group's member."""

from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.requests.request import Call
from kafkapy.broker.security.authorizer.asking import require
from kafkapy.broker.share.sessions import Place
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kafkapy.broker.requests.needs import HasAuthorizer, HasImage, HasShares

    class Needs(HasAuthorizer, HasShares, Protocol): ...

    class KnowsTopics(HasAuthorizer, HasImage, Protocol): ...


LONGEST_MEMBER_ID: Final = 36


def check_member(node: "Needs", call: "Call[Any]") -> tuple[str, str]:
    """The group's and the member's ids, of a request that may be."""
    body = call.body
    if not node.shares.settings.is_enabled:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    require(node, call, Operation.READ, ResourceType.GROUP, body.group_id or "")
    check_member_id(body.member_id)
    if body.group_id is None:
        raise Refused(ErrorCode.INVALID_REQUEST)
    return body.group_id, body.member_id


def check_member_id(member_id: str | None) -> None:
    if not member_id or len(member_id) > LONGEST_MEMBER_ID:
        raise Refused(ErrorCode.INVALID_REQUEST)


def check_topic(node: "KnowsTopics", call: "Call[Any]", place: Place) -> None:
    """An id that nobody has is no topic: that is what is told elsewhere."""
    topic = node.image.topics_by_id.get(place[0])
    if topic is not None:
        require(node, call, Operation.READ, ResourceType.TOPIC, topic.name)
