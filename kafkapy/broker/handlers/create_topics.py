"""CreateTopics, v2-7. v5 tells the settings in force (KIP-525), v7 the topic id (KIP-516).

The answer waits until the leaders of the new partitions serve, so that a client that
creates a topic and writes to it at once finds it; after the request's timeout it is given
anyway, because the topic does exist. Class-based policies (create.topic.policy.class.name)
are not run: kafkapy loads no Java classes.
"""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import verdict
from kafkapy.broker.quotas.mutations import EXCEEDED, Mutations
from kafkapy.broker.relays.permission import require_for_relay
from kafkapy.broker.requests.request import Answer, Call, Fields, Later
from kafkapy.broker.requests.translations import millis
from kafkapy.broker.security.authorizer.asking import allows, would_allow
from kafkapy.broker.views.permission import require_for_view
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import later
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, ResourceType
from kafkapy.kraft.controller.topics.changes import (
    CreateReply,
    CreateTopics,
    NewTopic,
    TopicCreated,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol
    from uuid import UUID

    from kio.schema.create_topics.v7.request import CreatableTopic, CreateTopicsRequest

    from kafkapy.broker.requests.needs import (
        HasAuthorizer,
        HasClock,
        HasConfig,
        HasController,
        HasJournal,
        HasQuotas,
    )
    from kafkapy.core.seams import Callback

    class Needs(HasAuthorizer, HasClock, HasConfig, HasController, HasJournal, HasQuotas, Protocol):
        def when_serving(self, topic_ids: Iterable[UUID], then: Callback) -> None: ...


STRICT_ABOUT_QUOTAS = 6
_METADATA_TOPIC = "__cluster_metadata"


def handle(node: "Needs", call: "Call[CreateTopicsRequest]") -> Answer:
    body = call.body
    refused: dict[str, Refused | TopicCreated] = {
        topic.name: Refused(
            ErrorCode.INVALID_REQUEST,
            f"Creation of internal topic {_METADATA_TOPIC} is prohibited.",
        )
        for topic in body.topics
        if topic.name == _METADATA_TOPIC
    }
    names = tuple(dict.fromkeys(topic.name for topic in body.topics))
    if not would_allow(node, call, Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        refused |= {
            name: Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
            for name in names
            if name not in refused
            and not allows(node, call, Operation.CREATE, ResourceType.TOPIC, name)
        }
    for topic in body.topics:
        try:
            require_for_relay(node, call, topic.name, _settings(topic))
            require_for_view(node, call, _settings(topic))
        except Refused as denied:
            refused.setdefault(topic.name, denied)
    mutations = Mutations(node, call, strict_since=STRICT_ABOUT_QUOTAS)
    if not body.validate_only:
        refused |= {
            topic.name: EXCEEDED
            for topic in body.topics
            if topic.name not in refused and not mutations.fit(_partitions(node, topic))
        }
    event = CreateTopics(
        topics=tuple(_new_topic(one) for one in body.topics if one.name not in refused),
        validate_only=body.validate_only,
        describable=frozenset(
            name
            for name in names
            if would_allow(node, call, Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name)
        ),
    )
    promise = Later()

    def decided(reply: CreateReply | Refused) -> None:
        if isinstance(reply, Refused):
            results: dict[str, Refused | TopicCreated] = dict.fromkeys(names, reply)
        else:
            results = {**reply, **refused}
        made = {
            name: one.topic_id for name, one in results.items() if isinstance(one, TopicCreated)
        }
        done = [one.partitions for one in results.values() if isinstance(one, TopicCreated)]
        answer = {
            "throttle_time": mutations.settle(0 if body.validate_only else sum(done)),
            "topics": [_result(name, results[name]) for name in names],
        }
        if body.validate_only or not made:
            promise.resolve(answer)
            return
        for name in made:
            node.journal.info(
                "topic created", topic=name, client=call.client_id, peer=call.peer.host
            )
        _resolve_when_serving(node, promise, answer, made.values(), millis(body.timeout))

    node.controller.submit(event, decided)
    return promise


def _resolve_when_serving(
    node: "Needs",
    promise: Later,
    answer: Fields,
    topic_ids: "Iterable[UUID]",
    timeout_ms: int,
) -> None:
    def resolve() -> None:
        if not promise.is_resolved:
            timer.cancel()
            promise.resolve(answer)

    timer = node.clock.call_at(later(node.clock.now(), max(timeout_ms, 0)), resolve)
    node.when_serving(topic_ids, resolve)


def _partitions(node: "Needs", asked: "CreatableTopic") -> int:
    if asked.assignments:
        return len(asked.assignments)
    return asked.num_partitions if asked.num_partitions > 0 else node.config.num_partitions


def _new_topic(asked: "CreatableTopic") -> NewTopic:
    return NewTopic(
        name=asked.name,
        partitions=asked.num_partitions,
        replication_factor=asked.replication_factor,
        assignments=tuple(
            (one.partition_index, tuple(one.broker_ids)) for one in asked.assignments
        ),
        configs=_settings(asked),
    )


def _settings(asked: "CreatableTopic") -> tuple[tuple[str, str | None], ...]:
    return tuple((one.name, one.value) for one in asked.configs)


def _result(name: str, result: TopicCreated | Refused) -> Fields:
    if isinstance(result, Refused):
        return {
            "name": name,
            "topic_id": None,
            **verdict(result),
            "topic_config_error_code": 0,
            "num_partitions": -1,
            "replication_factor": -1,
            "configs": [],
        }
    settings = result.settings
    return {
        "name": name,
        "topic_id": result.topic_id,
        **verdict(None),
        "topic_config_error_code": (
            ErrorCode.TOPIC_AUTHORIZATION_FAILED if settings is None else ErrorCode.NONE
        ),
        "num_partitions": -1 if settings is None else result.partitions,
        "replication_factor": -1 if settings is None else result.replication_factor,
        "configs": [
            {
                "name": one.name,
                "value": None if one.is_sensitive else one.value,
                "read_only": False,
                "config_source": one.source,
                "is_sensitive": one.is_sensitive,
            }
            for one in settings or ()
        ],
    }
