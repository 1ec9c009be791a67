"""ShareGroupDescribe, v1 (KIP-932)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.describing import (
    OfProtocol,
    assignment_fields,
    describe_each,
    refuse_each,
)
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.core.errors import ErrorCode
from kafkapy.group.share.events import (
    DescribedShareMember,
    DescribeShareGroup,
    ShareGroupDescribed,
)

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.share_group_describe.v1.request import ShareGroupDescribeRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasGroups, HasShares

    class Needs(HasAuthorizer, HasGroups, HasShares, Protocol): ...


def handle(node: "Needs", call: "Call[ShareGroupDescribeRequest]") -> Answer:
    kind = OfProtocol(DescribeShareGroup, _member, _topics)
    if not node.shares.settings.is_enabled:
        return refuse_each(call, kind, ErrorCode.UNSUPPORTED_VERSION)
    return describe_each(node, call, kind)


def _topics(group: ShareGroupDescribed) -> Iterator[str]:
    for member in group.members:
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
