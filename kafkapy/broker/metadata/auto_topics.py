"""Topics that clients ask for before they exist (auto.create.topics.enable), and the
coordinators' own topics, made through the controller like any other.

Who asks is told UNKNOWN_TOPIC_OR_PARTITION (or COORDINATOR_NOT_AVAILABLE) and tries again;
meanwhile each topic is asked for once.
"""

from collections.abc import Mapping
from typing import Any

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.broker.metadata.internal_topics import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
)
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Journal
from kafkapy.kraft.controller.topics.changes import CreateTopics, NewTopic


class AutoTopics:
    def __init__(self, link: ControllerLink, config: BrokerConfig, journal: Journal) -> None:
        self._link = link
        self._config = config
        self._journal = journal
        self._under_way: set[str] = set()

    def create(self, name: str) -> ErrorCode:
        """Ask for `name`; what to tell the client, which comes back."""
        self._submit(self._new_topic(name))
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def create_for_dead_letters(self, name: str) -> None:
        """Of share groups; with times of their own, which say when they were written."""
        configs = (
            ("errors.deadletterqueue.group.enable", "true"),
            ("message.timestamp.type", "CreateTime"),
        )
        self._submit(NewTopic(name, configs=configs))

    def _submit(self, topic: NewTopic) -> None:
        if topic.name in self._under_way:
            return
        self._under_way.add(topic.name)
        self._link.create_topics(CreateTopics((topic,)), lambda answer: self._made(topic, answer))

    def _made(self, topic: NewTopic, answer: Mapping[str, Any] | Refused) -> None:
        self._under_way.discard(topic.name)
        verdict = answer if isinstance(answer, Refused) else answer[topic.name]
        if not isinstance(verdict, Refused):
            self._journal.info("topic created", topic=topic.name, reason="asked for by a client")
        elif verdict.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            self._journal.warning("topic not created", topic=topic.name, reason=verdict)

    def _new_topic(self, name: str) -> NewTopic:
        config = self._config
        if name == CONSUMER_OFFSETS:
            return NewTopic(
                name,
                config.offsets_topic_num_partitions,
                config.offsets_topic_replication_factor,
                configs=_settings(
                    compression="producer", segment_bytes=config.offsets_topic_segment_bytes
                ),
            )
        if name == TRANSACTION_STATE:
            return NewTopic(
                name,
                config.transaction_state_log_num_partitions,
                config.transaction_state_log_replication_factor,
                configs=(
                    ("unclean.leader.election.enable", "false"),
                    ("min.insync.replicas", str(config.transaction_state_log_min_isr)),
                    *_settings(
                        compression="uncompressed",
                        segment_bytes=config.transaction_state_log_segment_bytes,
                    ),
                ),
            )
        if name == SHARE_GROUP_STATE:
            return NewTopic(
                name,
                config.share_coordinator_state_topic_num_partitions,
                config.share_coordinator_state_topic_replication_factor,
                configs=(
                    ("cleanup.policy", "delete"),
                    ("retention.ms", "-1"),
                    ("compression.type", "producer"),
                    (
                        "segment.bytes",
                        str(config.share_coordinator_state_topic_segment_bytes),
                    ),
                    ("min.insync.replicas", str(config.share_coordinator_state_topic_min_isr)),
                ),
            )
        return NewTopic(name)


def _settings(*, compression: str, segment_bytes: int) -> tuple[tuple[str, str], ...]:
    return (
        ("cleanup.policy", "compact"),
        ("compression.type", compression),
        ("segment.bytes", str(segment_bytes)),
    )
