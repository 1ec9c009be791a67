"""What makes a heartbeat invalid.

What Apache Kafka 4.3 has no use for yet it refuses: static members, offsets of tasks, source
topics by pattern. What only the request's own form shows is seen by the node's handler.
"""

from collections.abc import Container, Mapping

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.members import JOINING, LEAVING_FOR_A_WHILE, invalid
from kafkapy.group.streams.configure import Configured
from kafkapy.group.streams.events import StreamsHeartbeat
from kafkapy.group.streams.member import Holding, Target, Tasks
from kafkapy.group.streams.topology import check_topology


def check_request(event: StreamsHeartbeat) -> None:
    """Whatever the group is like (formats/groups 6)."""
    topology = event.topology
    if event.owned is not None and event.owned.warmup:
        raise invalid("WarmupTasks are not supported yet.")
    if topology is not None and any(one.source_topic_regex for one in topology.subtopologies):
        raise invalid("Regular expressions for source topics are not supported yet.")
    if not event.member_id.strip():
        raise invalid("MemberId can't be empty.")
    if not event.group_id.strip():
        raise invalid("GroupId can't be empty.")
    if event.rack_id is not None and not event.rack_id.strip():
        raise invalid("RackId can't be empty.")
    if event.member_epoch == JOINING:
        _check_join(event)
    elif event.member_epoch == LEAVING_FOR_A_WHILE:
        raise invalid("InstanceId can't be null.")  # and nobody may have one yet
    elif event.member_epoch < LEAVING_FOR_A_WHILE:
        raise invalid(
            f"MemberEpoch is {event.member_epoch}, but must be greater than or equal to -2."
        )
    elif topology is not None:
        raise invalid("Topology can only be provided when (re-)joining.")


def check_owned(owned: Target | None, configured: Configured) -> None:
    """Tasks that a member names have to be of the topology."""
    if owned is None or not configured.is_ready:
        return
    for tasks in (owned.active, owned.standby):
        for subtopology, partitions in tasks.items():
            part = configured.parts.get(subtopology)
            if part is None:
                raise invalid(f"Subtopology {subtopology} does not exist in the topology.")
            for partition in partitions:
                if not 0 <= partition < part.task_count:
                    raise invalid(
                        f"Task {partition} for subtopology {subtopology} is invalid. Number of "
                        f"tasks for this subtopology: {part.task_count}"
                    )


def _check_join(event: StreamsHeartbeat) -> None:
    if event.rebalance_timeout_ms == -1:
        raise invalid("RebalanceTimeoutMs must be provided in first request.")
    owned = event.owned
    if owned is None or owned.active:
        raise invalid("ActiveTasks must be empty when (re-)joining.")
    if owned.standby:
        raise invalid("StandbyTasks must be empty when (re-)joining.")
    if event.topology is None:
        raise invalid("Topology must be non-null when (re-)joining.")
    for part in event.topology.subtopologies:
        for info in part.state_changelog_topics:
            if info.partitions != 0:
                raise Refused(
                    ErrorCode.STREAMS_INVALID_TOPOLOGY,
                    f"Changelog topic {info.name} must have an undefined partition count, but it "
                    f"is set to {info.partitions}.",
                )
    check_topology(event.topology)


def is_within(owned: Target | None, holding: Holding) -> bool:
    if owned is None:
        return False
    assigned = holding.assigned
    return _all_in(owned.active, assigned.active) and _all_in(owned.standby, assigned.standby)


def _all_in(tasks: Tasks, assigned: Mapping[str, Container[int]]) -> bool:
    return all(
        partition in assigned.get(subtopology, ())
        for subtopology, partitions in tasks.items()
        for partition in partitions
    )
