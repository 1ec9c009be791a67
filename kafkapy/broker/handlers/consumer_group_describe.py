"""ConsumerGroupDescribe, v0-1 (KIP-848). v1 says which protocol a member speaks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.describing import OfProtocol, assignment_fields, describe_each
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.group.admin import (
    ConsumerGroupDescribed,
    DescribeConsumerGroup,
    DescribedConsumer,
)

if TYPE_CHECKING:
    from kio.schema.consumer_group_describe.v1.request import ConsumerGroupDescribeRequest

    from kafkapy.broker.groups.describing import Needs


SPEAKS_CLASSIC, SPEAKS_CONSUMER = 0, 1


def handle(node: "Needs", call: "Call[ConsumerGroupDescribeRequest]") -> Answer:
    return describe_each(node, call, OfProtocol(DescribeConsumerGroup, _member, _topics))


def _topics(group: ConsumerGroupDescribed) -> Iterator[str]:
    for member in group.members:
        yield from member.profile.subscribed_topics
        for one in (*member.assignment, *member.target):
            yield one.topic


def _member(member: DescribedConsumer) -> dict[str, Any]:
    profile = member.profile
    return {
        "member_id": profile.member_id,
        "instance_id": profile.instance_id,
        "rack_id": profile.rack_id,
        "member_epoch": member.epoch,
        "client_id": profile.client_id,
        "client_host": profile.client_host,
        "subscribed_topic_names": sorted(profile.subscribed_topics),
        "subscribed_topic_regex": profile.subscribed_regex or "",
        "assignment": assignment_fields(member.assignment),
        "target_assignment": assignment_fields(member.target),
        "member_type": SPEAKS_CLASSIC if profile.is_classic else SPEAKS_CONSUMER,
    }
