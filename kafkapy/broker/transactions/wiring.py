"""The parts of a node that make transactions: what they are made of, how they hang together.

    Produce, TxnOffsetCommit --> verifier ------+
    InitProducerId, EndTxn ... -----------------+--> transactions (coordinator) --> markers
                                                                                       |
    WriteTxnMarkers ----------------------------> marker_writer <----------------------+

The coordinator's shards follow the leadership of `__transaction_state`.
"""

from collections.abc import Callable

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.metadata.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.broker.partitions.shard_log import follow_leadership
from kafkapy.broker.transactions.coordinator import CoordinatorIntervals, TransactionCoordinator
from kafkapy.broker.transactions.marker_sender import MarkerSender
from kafkapy.broker.transactions.marker_writer import GroupShard, MarkerWriter
from kafkapy.broker.transactions.verifier import VerificationSettings, Verifier
from kafkapy.coordinator.partitioning import partition_for
from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import NO_NODE, TopicPartition
from kafkapy.core.seams import Clock, OtherNodes
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.txn.machine import TransactionSettings
from kafkapy.txn.producer_ids import ProducerIds

TRANSACTION_VERSION = "transaction.version"


class TransactionWiring:
    def __init__(
        self,
        *,
        node_id: int,
        config: BrokerConfig,
        clock: Clock,
        other_nodes: OtherNodes,
        image: Callable[[], MetadataImage],
        partitions: Partitions,
        producer_ids: ProducerIds,
        find_group_shard: Callable[[int], GroupShard],
        disk_failed: Callable[[DiskFailed], None],
    ) -> None:
        """`find_group_shard`: the group coordinator's `active_shard`."""
        self._current_image = image
        self._config = config
        self.marker_writer = MarkerWriter(
            clock=clock,
            find_partition=partitions.get,
            find_group_shard=find_group_shard,
            disk_failed=disk_failed,
        )
        self.markers = MarkerSender(
            node_id=node_id,
            clock=clock,
            other_nodes=other_nodes,
            writer=self.marker_writer,
            leader_of=self._leader_of,
            may_come_ms=self._may_come_ms,
            request_timeout_ms=config.request_timeout_ms,
        )
        self.transactions = TransactionCoordinator(
            clock=clock,
            producer_ids=producer_ids,
            markers=self.markers,
            server_version=lambda: image().features.get(TRANSACTION_VERSION, 0),
            settings=TransactionSettings(
                max_timeout_ms=config.transaction_max_timeout_ms,
                expiration_ms=config.transactional_id_expiration_ms,
            ),
            intervals=CoordinatorIntervals(
                config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
                config.transaction_remove_expired_transaction_cleanup_interval_ms,
            ),
        )
        self.verifier = Verifier(
            node_id=node_id,
            clock=clock,
            other_nodes=other_nodes,
            coordinator=self.transactions,
            coordinator_of=self._coordinator_of,
            settings=VerificationSettings(
                is_enabled=lambda: config.transaction_partition_verification_enable,
                retry_backoff_ms=config.add_partitions_to_txn_retry_backoff_ms,
                retry_backoff_max_ms=config.add_partitions_to_txn_retry_backoff_max_ms,
                request_timeout_ms=config.request_timeout_ms,
            ),
        )

    @property
    def _image(self) -> MetadataImage:
        return self._current_image()

    def start(self) -> None:
        self.transactions.start()

    def close(self) -> None:
        self.transactions.close()

    def leadership_changed(self, partition: Partition, is_leader: bool) -> None:
        shards = self.transactions.shards
        topic = self._image.topics_by_name.get(partition.topic_partition.topic)
        if topic is not None and topic.name == shards.topic:
            shards.partition_count = len(topic.partitions)
        follow_leadership(shards, partition, is_leader)

    def _leader_of(self, topic_partition: TopicPartition) -> int | None:
        state = self._image.partition_by_name(*topic_partition)
        return None if state is None else state.leader

    def _may_come_ms(self, topic_partition: TopicPartition) -> int:
        """AddOffsetsToTxn is what clients ask before there is a topic of offsets. Without
        verification nobody asks us again before offsets are in the partition, and our image may
        know nothing of it still: as long as our session lasts, by which another leads here."""
        topic = topic_partition.topic
        is_asked = self._config.transaction_partition_verification_enable
        if is_asked or topic != CONSUMER_OFFSETS or topic in self._image.topics_by_name:
            return 0
        return self._config.broker_session_timeout_ms

    def _coordinator_of(self, transactional_id: str) -> int:
        topic = self._image.topics_by_name.get(TRANSACTION_STATE)
        if topic is None:
            return NO_NODE
        return topic.partitions[partition_for(transactional_id, len(topic.partitions))].leader
