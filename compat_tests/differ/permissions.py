"""A walk through all APIs as somebody with one permission, against either server.

Everybody is User:ANONYMOUS on a plain listener, so it is their address that tells people apart:

    127.0.0.1   the node itself      everything
    127.0.0.2   who administers      everything
    127.0.0.3   who is looked at     the one permission of this walk

What is kept of an answer is who is told of what, and which errors: the rest is of other tests.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from compat_tests.differ.group_cases import commit, ready_group, ready_transactions
from compat_tests.differ.permission_requests import Names, requests
from compat_tests.differ.share_cases import ready
from compat_tests.differ.side import Closed, Side, newest
from compat_tests.waiting import wait_for
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from kafkapy.kraft.uuids import uuid_to_text
from kafkapy.protocol.api_keys import ApiKey

NODE, ADMINISTRATOR, GUEST = "127.0.0.1", "127.0.0.2", "127.0.0.3"
EVERYBODY = "User:ANONYMOUS"
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "auto.create.topics.enable": "true",
}
# Errors by sentence are each server's own, and the rest is of other tests.
_TOLD = (
    *("name", "topic_name", "topic", "group_id", "resource_name", "resource_type", "key"),
    *("transactional_id", "partition_index", "index", "partition"),
)
# Of these it counts whether there are any.
# (Where a leader is said to be depends on who asks, and is of other tests.)
_UNTOLD = ("node_endpoints",)
_ANY = ("configs", "brokers", "nodes", "api_keys", "acls", "values", "members")
# Of these the walk's own are told: others make topics and groups too.
_MANY = ("topics", "groups", "transaction_states", "config_resources", "resources")


class Grant(NamedTuple):
    """None of both: nothing is granted."""

    resource: ResourceType | None
    operation: Operation | None

    def __str__(self) -> str:
        if self.resource is None or self.operation is None:
            return "nothing"
        return f"{self.operation.name} on {self.resource.name}"


_OPERATIONS = {
    ResourceType.TOPIC: "READ WRITE CREATE DELETE ALTER DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
    ResourceType.GROUP: "READ DELETE DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
    ResourceType.CLUSTER: "CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS "
    "ALTER_CONFIGS IDEMPOTENT_WRITE",
    ResourceType.TRANSACTIONAL_ID: "WRITE DESCRIBE TWO_PHASE_COMMIT",
    # Of no use to somebody who has not logged in: who has is looked at by token_permissions.py.
    ResourceType.DELEGATION_TOKEN: "DESCRIBE",
    ResourceType.USER: "CREATE_TOKENS DESCRIBE_TOKENS",
}
GRANTS = (
    Grant(None, None),
    *(
        Grant(resource, Operation[name])
        for resource, names in _OPERATIONS.items()
        for name in (*names.split(), "ALL")
    ),
)


def begin(address: str) -> None:
    """Whoever comes first may do everything, and takes it from the others."""
    admin = Side(address, ApiKey.CREATE_ACLS, 3, "begin", ADMINISTRATOR)
    names = {
        ResourceType.TOPIC: "*",
        ResourceType.GROUP: "*",
        ResourceType.TRANSACTIONAL_ID: "*",
        ResourceType.CLUSTER: CLUSTER_NAME,
    }
    creations = [
        _acl(kind, name, PatternType.LITERAL, host, Operation.ALL)
        for kind, name in names.items()
        for host in (NODE, ADMINISTRATOR)
    ]
    answer = admin.call(ApiKey.CREATE_ACLS, {"creations": creations})
    assert not any(one.error_code.value for one in answer.results), answer
    _wait_for_acls(admin, len(creations), host=None)
    ready_group(admin)
    ready_transactions(admin)
    admin.close()


def walk(address: str, grant: Grant, base: str) -> Iterator[tuple[str, Any]]:
    """What each request is called, and what is kept of its answer."""
    admin = Side(address, ApiKey.METADATA, newest(ApiKey.METADATA), base, ADMINISTRATOR)
    guest = Side(address, ApiKey.METADATA, newest(ApiKey.METADATA), base, GUEST)
    names = _prepare(admin, guest, base)
    granted = _granted(grant, base)
    if granted is not None:
        admin.call(ApiKey.CREATE_ACLS, {"creations": [granted]})
        _wait_for_acls(admin, 1, host=GUEST)
    try:
        for asked in requests(guest, names):
            version = newest(asked.api) if asked.version is None else asked.version
            try:
                kept = essence(guest.call(asked.api, asked.body, version), base)
            except Closed:
                kept = "connection closed"
                guest._reconnect()
            yield f"{asked.api.name} v{version} {asked.what}", kept
    finally:
        _take_back(admin)
        admin.close()
        guest.close()


def essence(answer: Any, base: str) -> Any:
    """Who is told of what, and which errors."""
    if dataclasses.is_dataclass(answer):
        answer = {
            field.name: getattr(answer, field.name)
            for field in dataclasses.fields(answer)
            if not field.name.startswith("__")
        }
    if not isinstance(answer, Mapping):
        return answer
    kept: dict[str, Any] = {}
    for name, value in answer.items():
        if name in _UNTOLD:
            continue
        if name.endswith(("error_code", "authorized_operations")):
            kept[name] = value.name if isinstance(value, Enum) else value
        elif name in _ANY or name == "topic_id":
            kept[name] = bool(value)
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes | memoryview):
            rows = [essence(one, base) for one in value if not isinstance(one, int | UUID)]
            if name in _MANY:
                rows = [row for row in rows if not _is_anothers(row)]
            kept[name] = sorted(rows, key=str)
        elif name in _TOLD:
            kept[name] = value.replace(base, "<own>") if isinstance(value, str) else value
    return kept


def _is_anothers(row: Any) -> bool:
    """Named, by a name that is not of this walk."""
    if not isinstance(row, dict):
        return False
    names = [row[one] for one in _TOLD if isinstance(row.get(one), str)]
    return bool(names) and not any("<own>" in one or len(one) < 3 for one in names)


def _prepare(admin: Side, guest: Side, base: str) -> Names:
    topic = admin.topic()
    guest.call_this(f"<id of {topic}>", admin.topic_id(topic))
    admin.write(topic, b"1")
    names = Names(base, topic)
    _ready_share_state(admin, names)
    admin.call(ApiKey.OFFSET_COMMIT, commit(admin, names.group, topic, 1, None))
    producing: dict[str, Any] = {
        "transactional_id": names.transaction,
        "transaction_timeout": 10_000,
    }
    producing |= {"producer_id": -1, "producer_epoch": -1}

    def is_there() -> bool:
        answer = admin.call(ApiKey.INIT_PRODUCER_ID, producing, 5)
        return bool(answer.error_code.value == 0)

    wait_for("the transactional id is known", is_there)
    beat: dict[str, Any] = {"group_id": f"{base}-consumers", "member_id": "AAAAAAAAAAAAAAAAAAAAAg"}
    beat |= {"member_epoch": 0, "rebalance_timeout": 10_000, "topic_partitions": []}
    admin.call(ApiKey.CONSUMER_GROUP_HEARTBEAT, {**beat, "subscribed_topic_names": [topic]})
    return names


def _ready_share_state(admin: Side, names: Names) -> None:
    topic_id = admin.topic_id(names.topic)
    ready(admin, f"{names.shared}:{uuid_to_text(topic_id)}:0")
    partitions = [{"partition": 0, "leader_epoch": 0}]
    topics = [{"topic_id": topic_id, "partitions": partitions}]
    body = {"group_id": names.shared, "topics": topics}

    def is_loaded() -> bool:
        answer = admin.call(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, body)
        return not int(answer.results[0].partitions[0].error_code)

    wait_for("the share coordinator has loaded", is_loaded)


def _granted(grant: Grant, base: str) -> Mapping[str, Any] | None:
    if grant.resource is None or grant.operation is None:
        return None
    if grant.resource is ResourceType.CLUSTER:
        return _acl(grant.resource, CLUSTER_NAME, PatternType.LITERAL, GUEST, grant.operation)
    return _acl(grant.resource, base, PatternType.PREFIXED, GUEST, grant.operation)


def _acl(
    kind: ResourceType, name: str, pattern: PatternType, host: str, operation: Operation
) -> dict[str, Any]:
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": pattern,
        "principal": EVERYBODY,
        "host": host,
        "operation": operation,
        "permission_type": Permission.ALLOW,
    }


def _filter(host: str | None) -> dict[str, Any]:
    anything = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1}
    anything |= {"permission_type": 1}
    return {
        **anything,
        "resource_name_filter": None,
        "principal_filter": EVERYBODY,
        "host_filter": host,
    }


def _wait_for_acls(admin: Side, count: int, host: str | None) -> None:
    """The broker knows them a moment after the controller."""

    def is_known() -> bool:
        answer = admin.call(ApiKey.DESCRIBE_ACLS, _filter(host))
        return sum(len(one.acls) for one in answer.resources) == count

    wait_for(f"{count} ACLs", is_known, every_s=0.005)


def _take_back(admin: Side) -> None:
    admin.call(ApiKey.DELETE_ACLS, {"filters": [_filter(GUEST)]})
    _wait_for_acls(admin, 0, GUEST)


def packed(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """By request, each different answer once, with those who get it: grant --> request -->
    answer is what is given."""
    found: dict[str, list[dict[str, Any]]] = {}
    for grant, walked in answers.items():
        for what, answer in walked.items():
            rows = found.setdefault(what, [])
            for row in rows:
                if row["answer"] == answer:
                    row["with"].append(grant)
                    break
            else:
                rows.append({"answer": answer, "with": [grant]})
    return found


def differences(
    expected: Mapping[str, list[dict[str, Any]]], answers: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """One line for each answer that somebody should not have got."""
    lines = []
    for what, rows in expected.items():
        for row in rows:
            for grant in row["with"]:
                got = answers[grant].get(what)
                if got != row["answer"]:
                    lines.append(f"{what}, with {grant}: expected {row['answer']}, got {got}")
    return lines
