"""DeleteTopics, v1-6. v6 also takes topic ids (KIP-516)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast
from uuid import UUID

from kafkapy.broker.controller.ask import explained
from kafkapy.broker.quotas.mutations import EXCEEDED, Mutations
from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.security.authorizer.asking import allows, would_allow
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.kraft.controller.topics.changes import DeleteReply, DeleteTopics

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.delete_topics.v5.request import DeleteTopicsRequest as DeleteTopicsRequestV5
    from kio.schema.delete_topics.v6.request import DeleteTopicsRequest

    from kafkapy.broker.requests.needs import (
        HasAuthorizer,
        HasClock,
        HasConfig,
        HasController,
        HasJournal,
        HasQuotas,
    )

    class Needs(
        HasAuthorizer, HasClock, HasConfig, HasController, HasJournal, HasQuotas, Protocol
    ): ...


STRICT_ABOUT_QUOTAS = 5


class _Asked(NamedTuple):
    name: str | None
    topic_id: UUID | None


def handle(node: "Needs", call: "Call[DeleteTopicsRequest]") -> Answer:
    if not node.config.delete_topic_enable:
        code = ErrorCode.INVALID_REQUEST if call.version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
        return _response({asked: Refused(code) for asked in _asked(call)})
    # The controller's image may hold what is not committed yet: what it says, "no such topic"
    # too, leaves only with the controller's own answer.
    verdicts, wanted = _looked_up(node, call)
    promise = Later()
    topics = node.controller.image.topics_by_id
    names = {asked: topics[topic_id].name for asked, topic_id in wanted.items()}
    names |= dict(_told(node, call, verdicts))
    mutations = Mutations(node, call, strict_since=STRICT_ABOUT_QUOTAS)
    sizes = {topic_id: len(topics[topic_id].partitions) for topic_id in wanted.values()}
    for asked in [one for one, which in wanted.items() if not mutations.fit(sizes[which])]:
        del wanted[asked]
        verdicts[asked] = EXCEEDED

    def decided(reply: DeleteReply | Refused) -> None:
        if isinstance(reply, Refused):
            answer = _response(dict.fromkeys(verdicts, reply), wanted, names)
            for row in answer["responses"]:
                row["error_message"] = None  # of the request: it is not about any of them
            promise.resolve(answer)
            return
        for asked, topic_id in wanted.items():
            verdict = verdicts[asked] = reply[topic_id]
            if verdict is None:
                node.journal.info(
                    "topic deleted",
                    topic=names[asked],
                    client=call.client_id,
                    peer=call.peer.host,
                )
        done = sum(sizes[which] for asked, which in wanted.items() if verdicts[asked] is None)
        answer = _response(verdicts, wanted, names)
        promise.resolve({**answer, "throttle_time": mutations.settle(done)})

    node.controller.submit(DeleteTopics(tuple(wanted.values())), decided)
    return promise


def _asked(call: "Call[DeleteTopicsRequest]") -> list[_Asked]:
    if call.version < 6:
        old = cast("DeleteTopicsRequestV5", call.body)
        return [_Asked(name, None) for name in old.topic_names]
    return [_Asked(topic.name, topic.topic_id) for topic in call.body.topics]


def _looked_up(
    node: "Needs", call: "Call[DeleteTopicsRequest]"
) -> tuple[dict[_Asked, Refused | None], dict[_Asked, UUID]]:
    """What is wrong with some of what is asked for, and the ids of the rest."""
    asked = _asked(call)
    counts = Counter(asked)
    verdicts: dict[_Asked, Refused | None] = {}
    wanted: dict[_Asked, UUID] = {}
    image = node.controller.image
    for one in asked:
        name, topic_id = one
        why = _why_not(one, counts[one])
        if why is not None:
            verdicts[one] = Refused(ErrorCode.INVALID_REQUEST, why)
        elif topic_id is not None:
            verdicts[one] = Refused(ErrorCode.UNKNOWN_TOPIC_ID)
            found = image.topics_by_id.get(topic_id)
            if found is not None and _may(node, call, Operation.DELETE, found.name):
                wanted[one] = topic_id
            elif found is not None:
                verdicts[one] = Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif not (
            _may(node, call, Operation.DESCRIBE, name or "")
            and (name not in image.topics_by_name or _may(node, call, Operation.DELETE, name or ""))
        ):
            verdicts[one] = Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        else:
            verdicts[one] = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if name in image.topics_by_name:
                wanted[one] = image.topics_by_name[name].id
    by_id = Counter(wanted.values())
    for one, wanted_id in list(wanted.items()):
        if by_id[wanted_id] > 1:
            verdicts[one] = Refused(
                ErrorCode.INVALID_REQUEST, "The provided topic name maps to an ID that was given."
            )
            del wanted[one]
    return verdicts, wanted


def _told(
    node: "Needs", call: "Call[DeleteTopicsRequest]", verdicts: Mapping[_Asked, Refused | None]
) -> Iterator[tuple[_Asked, str]]:
    """The names of topics that were asked for by id, may be known, and not deleted."""
    topics = node.controller.image.topics_by_id
    for asked, refused in verdicts.items():
        if refused is not None and refused.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            topic = None if asked.topic_id is None else topics.get(asked.topic_id)
            if topic is not None and _may(node, call, Operation.DESCRIBE, topic.name):
                yield asked, topic.name


def _may(node: "Needs", call: "Call[DeleteTopicsRequest]", operation: Operation, name: str) -> bool:
    """To delete on the cluster is to delete any topic."""
    return would_allow(node, call, Operation.DELETE, ResourceType.CLUSTER, CLUSTER_NAME) or allows(
        node, call, operation, ResourceType.TOPIC, name
    )


def _why_not(asked: _Asked, count: int) -> str | None:
    name, topic_id = asked
    if name is not None and topic_id is not None:
        return "You may not specify both topic name and topic id."
    if name is None and topic_id is None:
        return "Neither topic name nor id were specified."
    if count > 1:
        return "Duplicate topic name." if topic_id is None else "Duplicate topic id."
    return None


def _response(
    verdicts: Mapping[_Asked, Refused | None],
    ids: Mapping[_Asked, UUID] | None = None,
    names: Mapping[_Asked, str] | None = None,
) -> Fields:
    """Topics that are there have name and id, whichever they were asked by."""
    return {
        "throttle_time": 0,
        "responses": [
            {
                "name": (names or {}).get(asked, asked.name),
                "topic_id": (ids or {}).get(asked, asked.topic_id),
                **explained(refused),
            }
            for asked, refused in verdicts.items()
        ],
    }
