"""Groups and transactions asked of a broker that does not coordinate them.

Which refusals come with a sentence differs from API to API in Apache Kafka, and is not compared.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from compat_tests.differ.cases import versions_of
from compat_tests.differ.cluster.cases import CASES, Case
from compat_tests.differ.cluster.nodes import NODES, Nodes
from compat_tests.differ.streams_cases import joining
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey

K = ApiKey
Kind = Literal["group", "transaction"]
KEY_TYPES: Final[dict[Kind, int]] = {"group": 0, "transaction": 1}
MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"
_PRODUCER = {"producer_id": 4711, "producer_epoch": 0}
_OLD_PRODUCER = {f"v3_and_below_{name}": value for name, value in _PRODUCER.items()}


def group_requests(group: str, topic: str) -> dict[ApiKey, Mapping[str, Any]]:
    """What is asked of a group's coordinator."""
    named = {"group_id": group}
    member = {**named, "member_id": "stranger", "generation_id": 1}
    protocol = {"protocol_type": "consumer", "protocol_name": "range"}
    offset = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1}
    committed = [{"name": topic, "partitions": [offset]}]
    asked = [{"name": topic, "partition_indexes": [0]}]
    describes = {"group_ids": [group], "include_authorized_operations": True}
    beat = {**named, "member_id": MEMBER, "member_epoch": 0, "subscribed_topic_names": [topic]}
    return {
        K.JOIN_GROUP: {
            **named,
            "member_id": "",
            "session_timeout": 10_000,
            "rebalance_timeout": 10_000,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        },
        K.SYNC_GROUP: {**member, **protocol, "assignments": []},
        K.HEARTBEAT: member,
        K.LEAVE_GROUP: {**named, "member_id": "stranger", "members": [{"member_id": "stranger"}]},
        K.OFFSET_COMMIT: {
            **named,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "retention_time": -1,
            "topics": committed,
        },
        K.OFFSET_FETCH: {**named, "topics": asked, "groups": [{**named, "topics": asked}]},
        K.OFFSET_DELETE: {
            **named,
            "topics": [{"name": topic, "partitions": [{"partition_index": 0}]}],
        },
        K.TXN_OFFSET_COMMIT: {
            **named,
            **_PRODUCER,
            "transactional_id": f"{group}-id",
            "topics": committed,
        },
        K.DESCRIBE_GROUPS: {"groups": [group], "include_authorized_operations": True},
        K.DELETE_GROUPS: {"groups_names": [group]},
        K.CONSUMER_GROUP_HEARTBEAT: {**beat, "rebalance_timeout": 10_000, "topic_partitions": []},
        K.CONSUMER_GROUP_DESCRIBE: describes,
        K.SHARE_GROUP_HEARTBEAT: beat,
        K.SHARE_GROUP_DESCRIBE: describes,
        K.STREAMS_GROUP_HEARTBEAT: joining(group, {"epoch": 0, "subtopologies": []}),
        K.STREAMS_GROUP_DESCRIBE: describes,
        K.DESCRIBE_SHARE_GROUP_OFFSETS: {"groups": [{**named, "topics": None}]},
        K.DELETE_SHARE_GROUP_OFFSETS: {**named, "topics": [{"topic_name": topic}]},
        K.ALTER_SHARE_GROUP_OFFSETS: {
            **named,
            "topics": [
                {
                    "topic_name": topic,
                    "partitions": [{"partition_index": 0, "start_offset": 0}],
                }
            ],
        },
    }


def transaction_requests(transaction: str, topic: str) -> dict[ApiKey, Mapping[str, Any]]:
    """What is asked of a transaction's coordinator."""
    named = {"transactional_id": transaction}
    partitions = [{"name": topic, "partitions": [0]}]
    return {
        K.INIT_PRODUCER_ID: {
            **named,
            "transaction_timeout": 10_000,
            "producer_id": -1,
            "producer_epoch": -1,
        },
        K.ADD_PARTITIONS_TO_TXN: {
            "v3_and_below_transactional_id": transaction,
            **_OLD_PRODUCER,
            "v3_and_below_topics": partitions,
            "transactions": [{**named, **_PRODUCER, "verify_only": False, "topics": partitions}],
        },
        K.ADD_OFFSETS_TO_TXN: {**named, **_PRODUCER, "group_id": "some-group"},
        K.END_TXN: {**named, **_PRODUCER, "committed": True},
        K.DESCRIBE_TRANSACTIONS: {"transactional_ids": [transaction]},
    }


def elsewhere(nodes: Nodes, kind: Kind) -> int:
    """A broker that is not the coordinator of the case's own group or transaction."""
    body = {"key_type": KEY_TYPES[kind], "coordinator_keys": [nodes.name]}

    def coordinator() -> int | None:
        found = nodes.broker(1).call(K.FIND_COORDINATOR, body).coordinators[0]
        return found.node_id if found.error_code.value == 0 else None

    it = wait_for("a coordinator is known", coordinator)
    return next(one for one in NODES if one != it)


def _add(kind: Kind, api_key: ApiKey) -> None:
    requests = group_requests if kind == "group" else transaction_requests

    def play(nodes: Nodes) -> None:
        body = requests(nodes.name, nodes.topic({0: [1, 2]}))[api_key]
        side = nodes.broker(elsewhere(nodes, kind))
        answer = side.plain(side.call(api_key, body, nodes.version))
        side.heard.append((f"{api_key.name} v{nodes.version}", _without_sentences(answer)))

    name = f"{api_key.camel_name} where the {kind} is not coordinated"
    CASES.append(Case(name, api_key, play, versions_of(api_key)))


def _without_sentences(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {k: _without_sentences(v) for k, v in answer.items() if k != "error_message"}
    return [_without_sentences(one) for one in answer] if isinstance(answer, list) else answer


for _key in group_requests("", ""):
    _add("group", _key)
for _key in transaction_requests("", ""):
    _add("transaction", _key)
