"""ShareGroupDescribe, v1 (KIP-932)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.describing import (
    OfProtocol,
    assignment_fields,
    describe_each,
    refused_row,
)
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.core.errors import ErrorCode
from kafkapy.group.share.events import DescribedShareMember, DescribeShareGroup

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.share_group_describe.v1.request import ShareGroupDescribeRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups, HasShares

    class Needs(HasAuthorizer, HasGroups, HasShares, Protocol): ...


def handle(node: "Needs", call: "Call[ShareGroupDescribeRequest]") -> Answer:
    if not node.shares.settings.is_enabled:
        rows = [refused_row(one, ErrorCode.UNSUPPORTED_VERSION) for one in call.body.group_ids]
        return {"throttle_time": 0, "groups": rows}
    return describe_each(node, call, OfProtocol(DescribeShareGroup, _member, _topics))


def _topics(member: DescribedShareMember) -> Iterator[str]:
    yield from member.profile.subscribed_topics
    for one in member.assignment:
        yield one.topic


def _member(member: DescribedShareMember) -> dict[str, Any]:
    profile = member.profile
    return {
        "member_id": profile.member_id,
        "rack_id": profile.rack_id,
        "member_epoch": member.epoch,
        "client_id": profile.client_id,
        "client_host": profile.client_host,
        "subscribed_topic_names": sorted(profile.subscribed_topics),
        "assignment": assignment_fields(member.assignment),
    }
