"""The parts of a node that make share groups, and how they hang together.

    ShareFetch, ShareAcknowledge --> sessions --> led: share partitions led here
                                                    |
    ShareGroupHeartbeat --> groups (broker/groups)  |
               |                                    v
               +-- initialize, delete ----------> states --> shards of __share_group_state,
                                                             here or elsewhere

The shards follow the leadership of `__share_group_state`, the share partitions that of the
partitions they are of.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.topic_config import TopicConfigs
from kafkapy.broker.metadata.internal_topics import SHARE_GROUP_STATE
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.broker.partitions.shard_log import follow_leadership
from kafkapy.broker.share.dead_letters import DeadLetters
from kafkapy.broker.share.led import LedShares
from kafkapy.broker.share.priorities import Priorities
from kafkapy.broker.share.pruning import Pruning
from kafkapy.broker.share.retention import FollowingRetention
from kafkapy.broker.share.sessions import Place, ShareSession, ShareSessions
from kafkapy.broker.share.settings import ShareSettings
from kafkapy.broker.share.states import REQUEST_TIMEOUT_MS, ShareStates
from kafkapy.coordinator.registry import Registry
from kafkapy.coordinator.shard_records import ShardSettings
from kafkapy.coordinator.shards import Shards
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Answered, Clock, Journal, OtherNodes
from kafkapy.group.share.events import (
    ShareStateDeleted,
    ShareStateInitialized,
    StateToInitialize,
)
from kafkapy.group.topics import TopicPartitions
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.protocol.batches.batch import Codec
from kafkapy.share.coordinator.events import (
    NOTHING_READ,
    DeleteState,
    InitializeState,
    ShareReply,
    TopicsDeleted,
)
from kafkapy.share.coordinator.machine import ShareMachine
from kafkapy.share.coordinator.records import KEY_CLASSES
from kafkapy.share.coordinator.state import ShareKey

_NOT_THERE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)


class _ImagePartitions:
    def __init__(self, image: MetadataImage) -> None:
        self._image = image

    def exists(self, topic_id: UUID, partition: int) -> bool:
        return self._image.partition(topic_id, partition) is not None


class ShareWiring:
    """Handlers ask `sessions`, `led`, `states` and `shards`."""

    def __init__(
        self,
        *,
        node_id: int,
        config: BrokerConfig,
        clock: Clock,
        other_nodes: OtherNodes,
        image: Callable[[], MetadataImage],
        partitions: Partitions,
        groups: Shards[Any, Any],
        create_topic: Callable[[str], object],
        create_dead_letter_topic: Callable[[str], None],
        topic_configs: TopicConfigs,
        journal: Journal,
    ) -> None:
        self._current_image = image
        self._config = config
        self._groups = groups
        self._other_nodes = other_nodes
        self.shards: Shards[Any, ShareReply] = Shards(
            SHARE_GROUP_STATE,
            new_machine=lambda _: ShareMachine(
                lambda: _ImagePartitions(image()),
                lambda: config.share_coordinator_snapshot_update_records_per_snapshot,
            ),
            codec=Registry(KEY_CLASSES, lambda _: 0),
            clock=clock,
            settings=ShardSettings(
                commit_timeout_ms=config.share_coordinator_write_timeout_ms,
                compression=Codec(config.share_coordinator_state_topic_compression_codec),
                base_sequence=0,
            ),
        )
        self.states = ShareStates(
            node_id=node_id,
            clock=clock,
            other_nodes=other_nodes,
            image=image,
            shards=self.shards,
            create_topic=create_topic,
        )
        self.led = LedShares(
            clock=clock,
            states=self.states,
            dead_letters=DeadLetters(
                node_id=node_id,
                config=config,
                clock=clock,
                journal=journal,
                other_nodes=other_nodes,
                image=image,
                partitions=partitions,
                topic_configs=topic_configs,
                settings=lambda: self.settings,
                create_topic=create_dead_letter_topic,
            ),
            settings=lambda: self.settings,
        )
        self.priorities = Priorities(clock, image, topic_configs)
        self.sessions = ShareSessions(
            lambda: config.group_share_max_share_sessions, self._session_ended
        )
        self._retention = FollowingRetention(
            node_id=node_id,
            config=config,
            clock=clock,
            other_nodes=other_nodes,
            image=image,
            partitions=partitions,
            groups=groups,
            led=self.led,
            topic_configs=topic_configs,
        )
        self._pruning = Pruning(
            clock,
            self.shards,
            partitions,
            config.share_coordinator_state_topic_prune_interval_ms,
        )

    @property
    def settings(self) -> ShareSettings:
        return ShareSettings(self._config, self._current_image())

    def start(self) -> None:
        self._pruning.start()
        self._retention.start()

    def close(self) -> None:
        self._pruning.close()
        self._retention.close()
        self.led.close()
        self.states.close()
        self.shards.close()

    def follow(self, image: MetadataImage, delta: Delta) -> None:
        topic = image.topics_by_name.get(SHARE_GROUP_STATE)
        if topic is not None:
            self.shards.partition_count = len(topic.partitions)
        if delta.topics_deleted:
            self.shards.tell(TopicsDeleted(frozenset(delta.topics_deleted)))

    def leadership_changed(self, partition: Partition, is_leader: bool) -> None:
        follow_leadership(self.shards, partition, is_leader)
        self.led.leadership_changed(partition, is_leader)

    # What groups want of the share coordinator

    def initialize(self, wanted: StateToInitialize) -> None:
        """What a group is about to read; what fails is asked for again by a heartbeat."""
        self.begin_at(wanted, {}, lambda _: None)

    def begin_at(
        self,
        wanted: StateToInitialize,
        offsets: Mapping[Place, int],
        then: Callable[[dict[Place, Refused | None]], None],
    ) -> None:
        """Where nothing is said the group's own settings decide, at the first fetch."""
        keys = list(_keys(wanted.group_id, wanted.topics))

        def answered(replies: list[Any]) -> None:
            results: dict[Place, Refused | None] = {
                (key.topic_id, key.partition): reply if isinstance(reply, Refused) else None
                for key, reply in zip(keys, replies, strict=True)
            }
            topics = tuple(_begun(wanted.topics, results))
            if not topics:
                then(results)
                return
            event = ShareStateInitialized(wanted.group_id, topics)
            self._groups.submit(wanted.group_id, event, lambda _: then(results))

        events = [
            InitializeState(
                key,
                wanted.state_epoch,
                offsets.get((key.topic_id, key.partition), NOTHING_READ),
            )
            for key in keys
        ]
        self.states.ask_all(events, answered)

    def delete(
        self,
        group_id: str,
        topics: Iterable[TopicPartitions],
        then: Callable[[dict[UUID, Refused | None]], None],
    ) -> None:
        """`then`, by topic, once the share coordinator and the group have nothing of them."""
        topics = tuple(topics)
        keys = list(_keys(group_id, topics))

        def answered(replies: list[Any]) -> None:
            found: dict[UUID, Refused | None] = {one.topic_id: None for one in topics}
            for key, reply in zip(keys, replies, strict=True):
                # With a topic that is gone its states are.
                if isinstance(reply, Refused) and reply.code not in _NOT_THERE:
                    found[key.topic_id] = reply
            gone = frozenset(one for one, refused in found.items() if refused is None)
            event = ShareStateDeleted(group_id, gone)
            self._groups.submit(group_id, event, lambda _: then(found))

        self.states.ask_all([DeleteState(key) for key in keys], answered)

    def call_node(self, node: int, api_key: int, version: int, body: Any, then: Answered) -> None:
        self._other_nodes.call(node, api_key, version, body, REQUEST_TIMEOUT_MS, then)

    def _session_ended(self, session: ShareSession) -> None:
        group_id, member_id = session.key
        known = [ShareKey(group_id, *place) for place in sorted(session.known)]
        self.led.release(member_id, known)
        if not self.sessions.has_group(group_id):
            self.led.forget_group(group_id)


def _keys(group_id: str, topics: Iterable[TopicPartitions]) -> Iterable[ShareKey]:
    for topic in topics:
        for partition in topic.partitions:
            yield ShareKey(group_id, topic.topic_id, partition)


def _begun(
    topics: Iterable[TopicPartitions], results: Mapping[Place, Refused | None]
) -> Iterable[TopicPartitions]:
    for topic in topics:
        partitions = tuple(one for one in topic.partitions if results[topic.topic_id, one] is None)
        if partitions:
            yield topic._replace(partitions=partitions)
