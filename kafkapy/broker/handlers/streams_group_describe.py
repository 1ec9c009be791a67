"""StreamsGroupDescribe, v0 (KIP-1071). A topology that fits its topics is told with the numbers
of partitions that its internal topics have; any other as it was sent."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.describing import OfProtocol, describe_each, refuse_each
from kafkapy.broker.groups.task_fields import task_fields
from kafkapy.broker.requests.request import Answer, Call
from kafkapy.core.errors import ErrorCode
from kafkapy.group.records.streams import Subtopology
from kafkapy.group.streams.configure import Part
from kafkapy.group.streams.events import (
    DescribedStreamsMember,
    DescribeStreamsGroup,
    StreamsGroupDescribed,
)
from kafkapy.group.streams.member import Tasks, tasks_of
from kafkapy.group.streams.topology import InternalTopic, internal_topics, topics_of

if TYPE_CHECKING:
    from kio.schema.streams_group_describe.v0.request import StreamsGroupDescribeRequest

    from kafkapy.broker.requests.needs import ServesStreams


def handle(node: "ServesStreams", call: "Call[StreamsGroupDescribeRequest]") -> Answer:
    kind = OfProtocol(DescribeStreamsGroup, _member, _topics, _group)
    if not node.streams.is_enabled:
        return refuse_each(call, kind, ErrorCode.UNSUPPORTED_VERSION)
    return describe_each(node, call, kind)


def _topics(group: StreamsGroupDescribed) -> Iterable[str]:
    return () if group.topology is None else topics_of(group.topology.subtopologies.values())


def _group(group: StreamsGroupDescribed | None) -> dict[str, Any]:
    if group is None or group.topology is None:
        return {"topology": None}
    parts = {} if group.configured is None else group.configured.parts
    return {
        "topology": {
            "epoch": group.topology.epoch,
            "subtopologies": [
                _subtopology(one, parts.get(name))
                for name, one in sorted(group.topology.subtopologies.items())
            ],
        }
    }


def _subtopology(one: Subtopology, part: Part | None) -> dict[str, Any]:
    changelogs = internal_topics(one.state_changelog_topics)
    repartitions = internal_topics(one.repartition_source_topics)
    if part is not None:
        changelogs, repartitions = part.changelogs, part.repartitions
    return {
        "subtopology_id": one.subtopology_id,
        "source_topics": sorted(one.source_topics),
        "repartition_sink_topics": sorted(one.repartition_sink_topics),
        "state_changelog_topics": _infos(changelogs),
        "repartition_source_topics": _infos(repartitions),
    }


def _infos(topics: Iterable[InternalTopic]) -> list[dict[str, Any]]:
    return [
        {
            "name": topic.name,
            "partitions": topic.partitions,
            "replication_factor": topic.replication_factor,
            "topic_configs": [{"key": key, "value": value} for key, value in topic.configs],
        }
        for topic in sorted(topics, key=lambda topic: topic.name)
    ]


def _member(member: DescribedStreamsMember) -> dict[str, Any]:
    profile, assigned, target = member.profile, member.holding.assigned, member.target
    endpoint = profile.user_endpoint
    return {
        "member_id": profile.member_id,
        "member_epoch": member.holding.epoch,
        "instance_id": profile.instance_id,
        "rack_id": profile.rack_id,
        "client_id": profile.client_id,
        "client_host": profile.client_host,
        "topology_epoch": profile.topology_epoch,
        "process_id": profile.process_id,
        "user_endpoint": (None if endpoint is None else {"host": endpoint[0], "port": endpoint[1]}),
        "client_tags": [{"key": key, "value": value} for key, value in profile.client_tags],
        "task_offsets": (),
        "task_end_offsets": (),
        "assignment": _tasks(tasks_of(assigned.active), assigned.standby, assigned.warmup),
        "target_assignment": _tasks(target.active, target.standby, target.warmup),
        "is_classic": False,
    }


def _tasks(active: Tasks, standby: Tasks, warmup: Tasks) -> dict[str, Any]:
    return {
        "active_tasks": task_fields(active),
        "standby_tasks": task_fields(standby),
        "warmup_tasks": task_fields(warmup),
    }
