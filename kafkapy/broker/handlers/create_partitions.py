"""CreatePartitions, v0-3. v3 may be throttled per principal (KIP-599); here it never is."""

from collections import Counter
from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, verdict
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.topics import CreatePartitions, MorePartitions, PartitionsReply

if TYPE_CHECKING:
    from kio.schema.create_partitions.v3.request import CreatePartitionsRequest

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[CreatePartitionsRequest]") -> Answer:
    counts = Counter(topic.name for topic in call.body.topics)
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
            if counts[topic.name] == 1
        ),
        validate_only=call.body.validate_only,
    )

    def answer(reply: PartitionsReply) -> Fields:
        return {
            "throttle_time": 0,
            "results": [
                {"name": name, **verdict(reply[name] if count == 1 else _TWICE)}
                for name, count in counts.items()
            ],
        }

    return ask(node, event, answer, lambda refused: answer(dict.fromkeys(counts, refused)))


_TWICE = Refused(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
