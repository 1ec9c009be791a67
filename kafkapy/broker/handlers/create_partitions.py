"""CreatePartitions, v0-3. v3 may be throttled per principal (KIP-599); here it never is."""

from collections import Counter
from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, verdict
from kafkapy.broker.quotas.mutations import EXCEEDED, Mutations
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import allows
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.controller.topics.changes import (
    CreatePartitions,
    MorePartitions,
    PartitionsReply,
)

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.create_partitions.v3.request import CreatePartitionsRequest

    from kafkapy.broker.requests.needs import (
        HasAuthorizer,
        HasClock,
        HasController,
        HasQuotas,
    )

    class Needs(HasAuthorizer, HasClock, HasController, HasQuotas, Protocol): ...


def handle(node: "Needs", call: "Call[CreatePartitionsRequest]") -> Answer:
    counts: Counter[str] = Counter(topic.name for topic in call.body.topics)
    denied = {
        name for name in counts if not allows(node, call, Operation.ALTER, ResourceType.TOPIC, name)
    }
    mutations = Mutations(node, call, strict_since=STRICT_ABOUT_QUOTAS)
    more: dict[str, int] = {
        topic.name: topic.count - _count(node, topic.name) for topic in call.body.topics
    }
    exceeding: set[str] = set()
    if not call.body.validate_only:
        for name in counts:
            if name not in denied and not mutations.fit(more[name]):
                exceeding.add(name)
    event = CreatePartitions(
        topics=tuple(
            MorePartitions(
                topic.name,
                topic.count,
                None
                if topic.assignments is None
                else tuple(tuple(one.broker_ids) for one in topic.assignments),
            )
            for topic in call.body.topics
            if counts[topic.name] == 1 and topic.name not in denied | exceeding
        ),
        validate_only=call.body.validate_only,
    )

    def judged(reply: PartitionsReply, name: str) -> Refused | None:
        if counts[name] > 1:
            return _TWICE
        if name in exceeding:
            return EXCEEDED
        return _DENIED if name in denied else reply[name]

    def answer(reply: PartitionsReply) -> Fields:
        done = 0
        if not call.body.validate_only:
            done = sum(more[name] for name in counts if judged(reply, name) is None)
        return {
            "throttle_time": mutations.settle(done),
            "results": [{"name": name, **verdict(judged(reply, name))} for name in counts],
        }

    return ask(node, event, answer, lambda refused: answer(dict.fromkeys(counts, refused)))


def _count(node: "Needs", name: str) -> int:
    topic = node.controller.image.topics_by_name.get(name)
    return 0 if topic is None else len(topic.partitions)


STRICT_ABOUT_QUOTAS = 3
_DENIED = Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_TWICE = Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
