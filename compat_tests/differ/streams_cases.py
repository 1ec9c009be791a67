"""Streams groups (KIP-1071): members, topologies, tasks, endpoints, offsets.

Groups are set not to delay assignments, so that epochs depend on what is asked alone. Internal
topics are made a moment after they were found missing: a member beats until they are there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from compat_tests.differ.cases import case
from compat_tests.differ.side import Side
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey

BEAT, DESCRIBE = ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_DESCRIBE
FIRST, SECOND = "first", "second"
GROUP = 32
MISSING_INTERNAL_TOPICS = 3
NOT_FOUND = 69


@case("groups", BEAT)
def streams_heartbeats_that_may_not_be(side: Side) -> None:
    group, topic = ready_group(side), side.topic()
    wanted = counting(group, topic)
    some = [{"subtopology_id": "0", "partitions": [0]}]
    tag = [{"subtopology_id": "0", "partition": 0, "offset": 5}]
    changed_log = counting(group, topic)
    changed_log["subtopologies"][0]["state_changelog_topics"][0]["partitions"] = 4
    pattern = counting(group, topic)
    pattern["subtopologies"][0]["source_topic_regex"] = ["a.*"]
    changes: list[dict[str, Any]] = [
        {"group_id": ""},
        {"member_id": ""},
        {"rack_id": ""},
        {"instance_id": ""},
        {"instance_id": "one"},
        {"rebalance_timeout": -1},
        {"active_tasks": None},
        {"active_tasks": some},
        {"standby_tasks": some},
        {"warmup_tasks": some},
        {"active_tasks": None, "standby_tasks": None, "warmup_tasks": None},
        {"task_offsets": tag},
        {"task_end_offsets": tag},
        {"topology": None},
        {"topology": changed_log},
        {"topology": pattern},
        {"member_epoch": -1},
        {"member_epoch": -2, "topology": None},
        {"member_epoch": -2, "topology": None, "instance_id": "one"},
        {"member_epoch": -3},
        {"member_epoch": 3},
        {"member_epoch": 3, "topology": None},
        {"member_epoch": -1, "topology": None},
    ]
    for change in changes:
        side.ask(BEAT, {**joining(group, wanted), **change})


@case("groups", BEAT)
def the_life_of_a_streams_group(side: Side) -> None:
    """Two members come, share the tasks and go; one asks for the end of the application."""
    group, topic = ready_group(side), side.topic(partitions=4)
    wanted = counting(group, topic)
    side.ask(BEAT, joining(group, wanted))
    side.ask(DESCRIBE, described(group))
    until_topics_are_there(side, group, FIRST, 2)
    side.ask(BEAT, joining(group, wanted))
    side.ask(BEAT, joining(group, wanted, SECOND))
    side.ask(BEAT, beating(group, FIRST, 3))
    side.ask(DESCRIBE, described(group))
    side.ask(BEAT, beating(group, SECOND, 4))
    side.ask(BEAT, {**beating(group, FIRST, 3), **has([0, 1])})
    side.ask(BEAT, {**beating(group, SECOND, 4), **has([])})
    side.ask(BEAT, beating(group, FIRST, 4))
    side.ask(DESCRIBE, described(group))
    side.ask(ApiKey.DELETE_GROUPS, {"groups_names": [group]})
    side.ask(BEAT, {**beating(group, SECOND, -1), "shutdown_application": True})
    side.ask(BEAT, beating(group, FIRST, 4))
    side.ask(BEAT, beating(group, SECOND, 4))
    side.ask(BEAT, beating(group, SECOND, -1))
    side.ask(BEAT, beating(group, FIRST, -1))
    side.ask(DESCRIBE, described(group))
    side.ask(ApiKey.DELETE_GROUPS, {"groups_names": [group]})
    side.ask(DESCRIBE, described(group))


@case("groups", BEAT)
def streams_members_at_wrong_epochs(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    assigned(side, group, topic)
    side.ask(BEAT, beating(group, "stranger", 3))
    side.ask(BEAT, beating(group, "stranger", -1))
    side.ask(BEAT, beating(group, FIRST, 70))
    side.ask(BEAT, beating(group, FIRST, 1))
    side.ask(BEAT, beating(group, FIRST, 2))
    side.ask(BEAT, {**beating(group, FIRST, 3), **has([9])})
    side.ask(BEAT, {**beating(group, FIRST, 3), **has([0], subtopology="7")})
    side.ask(BEAT, {**beating(group, FIRST, 3), **has([0, 1])})


@case("groups", BEAT)
def topologies_that_do_not_fit_the_topics(side: Side) -> None:
    group, few, many = ready_group(side), side.topic(partitions=2), side.topic(partitions=3)
    both = {"source_topics": [0, 1], "source_topic_regex": [], "repartition_source_topics": []}
    log = internal(f"{few}")  # there already, with other partitions than the changelog needs
    topologies = [
        [part("0", [f"{few}-missing"])],
        [part("0", [few, many], copartition_groups=[both])],
        [part("0", [many], state_changelog_topics=[log])],
        [part("0", [])],
        [part("0", [], state_changelog_topics=[internal(f"{group}-log")])],
        [part("0", [], repartition_source_topics=[internal(f"{group}-never")])],
        [part("0", ["__consumer_offsets"])],
        [part("0", ["not a name"])],
        [part("0", [few], repartition_sink_topics=["__transaction_state"])],
        [],
    ]
    for number, parts in enumerate(topologies):
        name = f"{group}-{number}"
        at_once(side, name)
        side.ask(BEAT, joining(name, {"epoch": 0, "subtopologies": parts}))
        side.ask(BEAT, beating(name, FIRST, 2))
        side.ask(DESCRIBE, described(name))


@case("groups", BEAT)
def internal_topics_of_every_kind(side: Side) -> None:
    """Their numbers of partitions follow from one another."""
    group, topic, other = ready_group(side), side.topic(partitions=3), side.topic(partitions=2)
    names = [f"{group}-{name}" for name in ("a", "b", "c", "log")]
    a, b, c, log = names
    joined = {"source_topics": [0], "source_topic_regex": [], "repartition_source_topics": [0]}
    parts = [
        part("0", [topic], repartition_sink_topics=[a, c]),
        part(
            "1",
            [],
            repartition_source_topics=[internal(a)],
            repartition_sink_topics=[b],
            state_changelog_topics=[internal(log, configs={"cleanup.policy": "compact"})],
        ),
        part("2", [], repartition_source_topics=[internal(b, 5)]),
        part("3", [other], repartition_source_topics=[internal(c)], copartition_groups=[joined]),
    ]
    side.ask(BEAT, joining(group, {"epoch": 0, "subtopologies": parts}))
    until_topics_are_there(side, group, FIRST, 2)
    side.ask(BEAT, {**beating(group, FIRST, 3)})
    side.ask(DESCRIBE, described(group))
    answer = side.call(ApiKey.METADATA, {"topics": [{"name": name} for name in names]})
    side.heard.append(("partitions", {t.name: len(t.partitions) for t in answer.topics}))
    kept = ["cleanup.policy", "retention.ms"]
    resource = {"resource_type": 2, "resource_name": log, "configuration_keys": kept}
    side.ask(ApiKey.DESCRIBE_CONFIGS, {"resources": [resource]})


@case("groups", BEAT)
def another_topology(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    wanted = {"epoch": 3, "subtopologies": [part("0", [topic])]}
    side.ask(BEAT, joining(group, wanted))
    side.ask(BEAT, joining(group, {**wanted, "epoch": 4}, SECOND))
    side.ask(BEAT, joining(group, {"epoch": 3, "subtopologies": []}, SECOND))
    side.ask(BEAT, joining(group, {"epoch": 2, "subtopologies": []}, SECOND))
    side.ask(DESCRIBE, described(group))


@case("groups", BEAT)
def standby_tasks(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=1)
    set_group(side, group, "streams.num.standby.replicas", "1")
    assigned(side, group, topic)
    side.ask(BEAT, joining(group, counting(group, topic), SECOND))
    side.ask(BEAT, beating(group, FIRST, 3))
    side.ask(DESCRIBE, described(group))
    # A third one in the same process gets no second copy.
    third = {**joining(group, counting(group, topic), "third"), "process_id": f"of {SECOND}"}
    side.ask(BEAT, third)
    side.ask(BEAT, beating(group, FIRST, -1))
    side.ask(BEAT, beating(group, SECOND, 5))


@case("groups", BEAT)
def partitions_by_endpoint(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    wanted = {"epoch": 0, "subtopologies": [part("0", [topic])]}
    here: dict[str, Any] = {"user_endpoint": {"host": "here", "port": 60_000}}
    side.ask(BEAT, {**joining(group, wanted), **here})
    side.ask(BEAT, {**beating(group, FIRST, 2), "endpoint_information_epoch": 0})
    side.ask(BEAT, {**joining(group, wanted, SECOND), "user_endpoint": {"host": "x", "port": 1}})
    side.ask(BEAT, {**beating(group, FIRST, 2), "endpoint_information_epoch": 0})
    side.ask(BEAT, {**beating(group, FIRST, 2), **has([0]), "endpoint_information_epoch": 2})
    side.ask(BEAT, {**beating(group, SECOND, 3), "endpoint_information_epoch": 2})
    side.ask(BEAT, {**beating(group, SECOND, 3), "endpoint_information_epoch": 3})


@case("groups", DESCRIBE)
def describe_streams_groups(side: Side) -> None:
    group = ready_group(side)
    for name in (f"{group}-unknown", ""):
        side.ask(DESCRIBE, described(name))
    commit = {"group_id": f"{group}-other", "generation_id_or_member_epoch": -1, "member_id": ""}
    side.call(ApiKey.OFFSET_COMMIT, {**commit, "topics": []})
    side.ask(DESCRIBE, described(f"{group}-other"))


@case("groups", BEAT)
def streams_groups_and_other_protocols(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    wanted = {"epoch": 0, "subtopologies": [part("0", [topic])]}
    side.ask(BEAT, joining(group, wanted))
    protocols = [{"name": "range", "metadata": b""}]
    join = {"group_id": group, "session_timeout": 10_000, "rebalance_timeout": 10_000}
    join |= {"member_id": "", "protocol_type": "consumer", "protocols": protocols}
    side.ask(ApiKey.JOIN_GROUP, join)
    consumer = {"group_id": group, "member_id": "A" * 22, "member_epoch": 0}
    subscribed = {"subscribed_topic_names": [topic]}
    rest = {"rebalance_timeout": 10_000, "topic_partitions": []}
    side.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, {**consumer, **subscribed, **rest})
    side.ask(ApiKey.SHARE_GROUP_HEARTBEAT, {**consumer, **subscribed})
    for api in (ApiKey.CONSUMER_GROUP_DESCRIBE, ApiKey.SHARE_GROUP_DESCRIBE):
        side.ask(api, described(group))
    side.ask(ApiKey.DESCRIBE_GROUPS, {"groups": [group], "include_authorized_operations": False})
    side.ask(BEAT, beating(group, FIRST, -1))
    # An empty one becomes a classic one, and an empty classic one this.
    joined = side.call(ApiKey.JOIN_GROUP, join, 3)
    side.heard.append(("joined", joined.error_code))
    side.ask(BEAT, joining(group, wanted))
    side.call(ApiKey.LEAVE_GROUP, {"group_id": group, "member_id": joined.member_id}, 1)
    side.ask(BEAT, joining(group, wanted))


@case("groups", BEAT)
def offsets_of_a_streams_group(side: Side) -> None:
    group, topic = ready_group(side), side.topic(partitions=2)
    assigned(side, group, topic)
    side.call(BEAT, joining(group, counting(group, topic), SECOND))
    side.call(BEAT, beating(group, FIRST, 3))
    side.call(BEAT, {**beating(group, FIRST, 3), **has([0])})
    rows = [
        (FIRST, 4, 0), (FIRST, 3, 0), (FIRST, 3, 1), (FIRST, 2, 0), (FIRST, 9, 0),
        ("stranger", 4, 0), ("", -1, 0), (SECOND, 4, 0),
    ]  # fmt: skip
    for member, epoch, partition in rows:
        side.ask(ApiKey.OFFSET_COMMIT, committed(group, topic, member, epoch, partition), 9)
    side.ask(ApiKey.OFFSET_COMMIT, committed(group, topic, FIRST, 4, 0), 8)
    who: Any
    for who, epoch in ((FIRST, 4), (FIRST, 3), ("stranger", 4), (None, -1)):
        asked: Any = {"group_id": group, "member_id": who, "member_epoch": epoch}
        topics = [{"name": topic, "partition_indexes": [0, 1]}]
        asked = {"groups": [{**asked, "topics": topics}], "require_stable": True}
        side.ask(ApiKey.OFFSET_FETCH, asked, 9)
    for name in (topic, f"{topic}-other"):
        rows_of = [{"name": name, "partitions": [{"partition_index": 0}]}]
        side.ask(ApiKey.OFFSET_DELETE, {"group_id": group, "topics": rows_of})


# Bodies


def joining(group: str, topology: Any, member: str = FIRST) -> dict[str, Any]:
    body = {**beating(group, member, 0), "topology": topology, "rebalance_timeout": 30_000}
    return {**body, **has([]), "process_id": f"of {member}", "client_tags": []}


def beating(group: str, member: str, epoch: int) -> dict[str, Any]:
    return {
        "group_id": group,
        "member_id": member,
        "member_epoch": epoch,
        "endpoint_information_epoch": -1,
        "rebalance_timeout": -1,
        "topology": None,
        "active_tasks": None,
        "standby_tasks": None,
        "warmup_tasks": None,
        "client_tags": None,
        "task_offsets": None,
        "task_end_offsets": None,
    }


def has(partitions: Sequence[int], subtopology: str = "0") -> dict[str, Any]:
    tasks = [{"subtopology_id": subtopology, "partitions": partitions}] if partitions else []
    return {"active_tasks": tasks, "standby_tasks": [], "warmup_tasks": []}


def described(group: str) -> dict[str, Any]:
    return {"group_ids": [group], "include_authorized_operations": True}


def committed(group: str, topic: str, member: str, epoch: int, partition: int) -> dict[str, Any]:
    row = {"partition_index": partition, "committed_offset": 3, "committed_leader_epoch": -1}
    return {
        "group_id": group,
        "generation_id_or_member_epoch": epoch,
        "member_id": member,
        "topics": [{"name": topic, "partitions": [{**row, "committed_metadata": ""}]}],
    }


def counting(group: str, topic: str) -> dict[str, Any]:
    log = internal(f"{group}-store-changelog", configs={"cleanup.policy": "compact"})
    return {"epoch": 0, "subtopologies": [part("0", [topic], state_changelog_topics=[log])]}


def part(name: str, sources: Sequence[str], **more: Any) -> dict[str, Any]:
    return {
        "subtopology_id": name,
        "source_topics": sources,
        "source_topic_regex": [],
        "state_changelog_topics": [],
        "repartition_sink_topics": [],
        "repartition_source_topics": [],
        "copartition_groups": [],
        **more,
    }


def internal(
    name: str, partitions: int = 0, configs: Mapping[str, str] | None = None
) -> dict[str, Any]:
    return {
        "name": name,
        "partitions": partitions,
        "replication_factor": 0,
        "topic_configs": [{"key": key, "value": value} for key, value in (configs or {}).items()],
    }


# Preparation


def ready_group(side: Side) -> str:
    """A group of this case's own whose coordinator serves, and which is assigned at once."""
    group = f"{side.name}-app"
    found = {"key_type": 0, "coordinator_keys": [group]}

    def serves() -> bool:
        (coordinator,) = side.call(ApiKey.FIND_COORDINATOR, found).coordinators
        (row,) = side.call(DESCRIBE, described(group)).groups
        return not int(coordinator.error_code) and bool(row.error_code.value == NOT_FOUND)

    wait_for("the coordinator serves", serves)
    at_once(side, group)
    return group


def at_once(side: Side, group: str) -> None:
    for name in ("streams.initial.rebalance.delay.ms", "streams.assignment.interval.ms"):
        set_group(side, group, name, "0")


def set_group(side: Side, group: str, name: str, value: str) -> None:
    row = {"name": name, "config_operation": 0, "value": value}
    resource: dict[str, Any] = {"resource_type": GROUP, "resource_name": group, "configs": [row]}
    changed = {"resources": [resource], "validate_only": False}
    answer = side.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, changed)
    assert answer.responses[0].error_code.value == 0, answer

    def is_set() -> bool:
        asked = {"resource_type": GROUP, "resource_name": group, "configuration_keys": [name]}
        (found,) = side.call(ApiKey.DESCRIBE_CONFIGS, {"resources": [asked]}).results
        return any(one.value == value for one in found.configs)

    wait_for(f"{name} of {group} is {value}", is_set, every_s=0.01)


def until_topics_are_there(side: Side, group: str, member: str, epoch: int) -> None:
    """Beats until no internal topic is missing: then the member is one epoch further."""

    def are_there() -> bool:
        answer = side.call(BEAT, beating(group, member, epoch))
        assert answer.error_code.value == 0, answer
        return all(one.status_code != MISSING_INTERNAL_TOPICS for one in answer.status)

    wait_for("the internal topics are there", are_there, every_s=0.05)


def assigned(side: Side, group: str, topic: str) -> None:
    """The first member has all tasks, at epoch 3."""
    side.call(BEAT, joining(group, counting(group, topic)))
    until_topics_are_there(side, group, FIRST, 2)
