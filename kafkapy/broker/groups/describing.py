"""Describing consumer, share and streams groups: the answers are alike but for what a member is,
and what is said of the group itself."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kafkapy.broker.groups.asking import ask_each
from kafkapy.broker.metadata.authorized_operations import NOT_ASKED
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import (
    allows,
    authorized_operations,
    unless_refused,
)
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.error_messages import message_of

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups

    class Needs(HasAuthorizer, HasGroups, Protocol): ...


def _assignor(reply: Any) -> dict[str, Any]:
    return {"assignor_name": "" if reply is None else reply.assignor}


class OfProtocol(NamedTuple):
    """What the groups of one protocol have of their own. `topics`: that its members know of;
    `group`: fields of the group, of None for one that is not described."""

    event: Callable[[str], Any]
    member: Callable[[Any], dict[str, Any]]
    topics: Callable[[Any], Iterable[str]]
    group: Callable[[Any], dict[str, Any]] = _assignor


class _Assigned(Protocol):
    @property
    def topic_id(self) -> Any: ...
    @property
    def topic(self) -> str: ...
    @property
    def partitions(self) -> Any: ...


def describe_each(node: "Needs", call: Call[Any], kind: OfProtocol) -> Answer:
    ids = call.body.group_ids
    named = [group_id for group_id in ids if group_id]
    no_name = refused_row(kind, "", ErrorCode.INVALID_GROUP_ID)
    nameless = [no_name for group_id in ids if not group_id]

    def translate(replies: Sequence[Any]) -> Fields:
        found = zip(named, replies, strict=True)
        rows = [_row(node, call, kind, group_id, reply) for group_id, reply in found]
        return {"throttle_time": 0, "groups": nameless + rows}

    may = Operation.DESCRIBE, ResourceType.GROUP
    asked = [(one, unless_refused(node, call, *may, one, kind.event(one))) for one in named]
    return ask_each(node.groups, asked, translate)


def refuse_each(call: Call[Any], kind: OfProtocol, error: ErrorCode) -> Fields:
    rows = [refused_row(kind, group_id, error) for group_id in call.body.group_ids]
    return {"throttle_time": 0, "groups": rows}


def refused_row(
    kind: OfProtocol, group_id: str, error: ErrorCode, message: str | None = None
) -> dict[str, Any]:
    return {
        "error_code": error,
        "error_message": message,
        "group_id": group_id,
        "group_state": "",
        "group_epoch": 0,
        "assignment_epoch": 0,
        **kind.group(None),
        "members": (),
        "authorized_operations": NOT_ASKED,
    }


def assignment_fields(assigned: Iterable[_Assigned]) -> dict[str, Any]:
    return {
        "topic_partitions": [
            {"topic_id": one.topic_id, "topic_name": one.topic, "partitions": one.partitions}
            for one in assigned
        ]
    }


def _row(
    node: "Needs", call: Call[Any], kind: OfProtocol, group_id: str, reply: Any
) -> dict[str, Any]:
    if isinstance(reply, Refused):
        is_denied = reply.code is ErrorCode.GROUP_AUTHORIZATION_FAILED
        return refused_row(kind, group_id, reply.code, None if is_denied else message_of(reply))
    if not _sees_topics(node, call, kind.topics(reply)):
        return refused_row(
            kind,
            group_id,
            ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "The group has a member with topics that the client may not describe.",
        )
    operations = NOT_ASKED
    if call.body.include_authorized_operations:
        operations = authorized_operations(node, call, ResourceType.GROUP, group_id)
    return {
        "error_code": ErrorCode.NONE,
        "error_message": None,
        "group_id": group_id,
        "group_state": reply.state,
        "group_epoch": reply.epoch,
        "assignment_epoch": reply.assignment_epoch,
        **kind.group(reply),
        "members": [kind.member(member) for member in reply.members],
        "authorized_operations": operations,
    }


def _sees_topics(node: "Needs", call: Call[Any], topics: Iterable[str]) -> bool:
    """What a group reads is not told to those who may not know of it."""
    if node.authorizer is None:
        return True
    # Each is asked for once, in the order in which members name them.
    return all(
        allows(node, call, Operation.DESCRIBE, ResourceType.TOPIC, one)
        for one in dict.fromkeys(topics)
    )
