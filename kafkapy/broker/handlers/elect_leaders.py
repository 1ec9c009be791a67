"""ElectLeaders, v0-2. v1 adds unclean elections (KIP-460); v0 means preferred ones."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, explained
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.broker.security.authorizer.asking import allows_on_cluster
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.acls import Operation
from kafkapy.kraft.controller.partitions.elections import ElectLeaders, ElectReply

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.elect_leaders.v2.request import ElectLeadersRequest

    from kafkapy.broker.requests.needs import HasAuthorizer, HasController, HasImage

    class Needs(HasAuthorizer, HasController, HasImage, Protocol): ...


_PREFERRED, _UNCLEAN = 0, 1


def handle(node: "Needs", call: "Call[ElectLeadersRequest]") -> Answer:
    wanted = _wanted(call)
    if not allows_on_cluster(node, call, Operation.ALTER):
        return _all(wanted, Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    if wanted == ():
        return _response(ErrorCode.NONE, {}, {})
    kind = optional(call.body, "election_type", _PREFERRED)
    if kind not in (_PREFERRED, _UNCLEAN):
        return _all(wanted, Refused(ErrorCode.INVALID_REQUEST, f"Unknown election type {kind}"))

    def answer(reply: ElectReply) -> Fields:
        if wanted is None:
            # Topics without anything to say are named all the same.
            topics = dict.fromkeys([*node.image.topics_by_name, *(one.topic for one in reply)])
        else:
            topics = dict.fromkeys(where.topic for where in wanted)
        return _response(ErrorCode.NONE, topics, reply)

    event = ElectLeaders(wanted, is_unclean=kind == _UNCLEAN)
    return ask(node, event, answer, lambda refused: _all(wanted, refused))


def _wanted(call: "Call[ElectLeadersRequest]") -> tuple[TopicPartition, ...] | None:
    topics = call.body.topic_partitions
    if topics is None:
        return None
    return tuple(
        TopicPartition(topic.topic, partition) for topic in topics for partition in topic.partitions
    )


def _all(wanted: tuple[TopicPartition, ...] | None, refused: Refused) -> Fields:
    results = dict.fromkeys(wanted or (), refused)
    return _response(refused.code, dict.fromkeys(where.topic for where in results), results)


def _response(
    code: ErrorCode, topics: Mapping[str, None], results: Mapping[TopicPartition, Refused | None]
) -> Fields:
    rows: dict[str, list[Fields]] = {topic: [] for topic in topics}
    for where, refused in results.items():
        rows[where.topic].append({"partition_id": where.partition, **explained(refused)})
    return {
        "throttle_time": 0,
        "error_code": code,
        "replica_election_results": [
            {"topic": topic, "partition_result": partitions} for topic, partitions in rows.items()
        ],
    }
