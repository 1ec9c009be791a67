"""What makes a node a broker: its logs and partitions, and who coordinates through them.

    start   a controller is active -> register -> the image has the registration
            -> open the logs, lead and follow what the image says -> unfenced: serve
    stop    hand leaderships over -> coordinators answer who waits -> clients are let go
            -> logs are flushed, their directories marked cleanly shut down

The controller, wherever it is, is reached through `link` alone; nothing here knows who has
won the quorum.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast
from uuid import UUID

from kafkapy.broker.config.topic_config import TopicConfigs
from kafkapy.broker.controller.controller_link import ControllerLink
from kafkapy.broker.fetch.sessions import FetchSessions
from kafkapy.broker.groups.streams import StreamsWiring
from kafkapy.broker.groups.wiring import GroupWiring
from kafkapy.broker.hooks.wiring import HookWiring
from kafkapy.broker.metadata.auto_topics import AutoTopics
from kafkapy.broker.metadata.awaited_topics import AwaitedTopics
from kafkapy.broker.metadata.leaders_in_doubt import LeadersInDoubt
from kafkapy.broker.metadata.recently_dead import RecentlyDead
from kafkapy.broker.node.base import NodeBase, Role
from kafkapy.broker.node.broker_facts import BrokerFacts
from kafkapy.broker.node.lifecycle import Lifecycle
from kafkapy.broker.node.settings import (
    directory_settings,
    peer_settings,
)
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.broker.peers.broker_connections import BrokerConnections, OtherBrokers
from kafkapy.broker.produce.schema_ids import SCHEMA_KEYS, SchemaIds
from kafkapy.broker.relays.wiring import RelayWiring
from kafkapy.broker.replication.assignments import DirectoryAssignments
from kafkapy.broker.replication.replication import Replication
from kafkapy.broker.replication.serving import ReplicaSessions
from kafkapy.broker.replication.throttle import LEADER, ReplicationThrottle
from kafkapy.broker.share.wiring import ShareWiring
from kafkapy.broker.transactions.wiring import TransactionWiring
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.jobs import Job, Steps
from kafkapy.core.seams import Callback
from kafkapy.core.turn import Turn
from kafkapy.group.lag import LagFigure
from kafkapy.kraft.controller.producer_ids import ProducerIdBlock
from kafkapy.kraft.features import DIRECTORY_ASSIGNMENT, METADATA_VERSION
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import TOPIC_RESOURCE, MetadataImage
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.log.config import LogConfig
from kafkapy.log.directories.all_logs import AllLogs
from kafkapy.log.partition_log import PartitionLog
from kafkapy.txn.producer_ids import BlockProducerIds

if TYPE_CHECKING:
    from kafkapy.broker.node.node import Node
    from kafkapy.broker.views.views import Views

# Begins to hang up on clients; what is given to it goes on once they are gone.
HangUp = Callable[[Callback], None]


class BrokerRole(Role):
    """Handlers of client requests are given this."""

    def __init__(self, base: NodeBase, link: ControllerLink, turn: Turn) -> None:
        super().__init__(base)
        self.link = link
        self.turn = turn
        self.disk = base.disk
        # Who is connected hears what is known when everything is handed over; the shell says.
        self.hang_up: HangUp = _nobody_is_connected
        self._end = base.end
        self.topic_configs = TopicConfigs(self.config)
        self.schema_ids = SchemaIds()
        slots = self.config.max_incremental_fetch_session_cache_slots
        self.fetch_sessions = FetchSessions(slots, self.rng)
        self.replica_sessions = ReplicaSessions(
            self.rng,
            ReplicationThrottle(
                self.node_id,
                self.clock,
                LEADER,
                lambda: self.config.leader_replication_throttled_rate,
                lambda topic: self.image.configs(TOPIC_RESOURCE, topic),
            ),
        )
        # (version, listener) -> the body of Metadata about all topics; see handlers/metadata.
        self.encoded_metadata: dict[tuple[int, str], bytes] = {}
        self.leaders_in_doubt = LeadersInDoubt(self.clock, self._connections_for(base, "life"))
        self.recently_dead = RecentlyDead(
            self.clock,
            self.leaders_in_doubt.silent_since,
            lambda: self.config.broker_session_timeout_ms,
            self.encoded_metadata.clear,
        )
        failed = base.identity.failed
        # Of those for partitions that can be read; the metadata log's may be another one.
        self._log_dir_ids = {
            path: base.identity.directory_ids[path]
            for path in self.config.data_directories
            if path not in failed
        }
        self.logs = AllLogs(
            self.disk,
            self.clock,
            self.rng,
            self.journal,
            self._log_dir_ids,
            directory_settings(self.config),
            failed=failed,
        )
        self.logs.on_failed = self.directory_failed
        self.logs.on_moved = self._log_moved
        self._facts = BrokerFacts(
            base, self._log_dir_ids, self.logs.previous_broker_epoch, self._cordoned_dirs
        )
        self._replication = Replication(
            node_id=self.node_id,
            config=self.config,
            clock=self.clock,
            journal=self.journal,
            connections=self._connections_for(base, "replica"),
            link=link,
            facts=self._facts,
            image=lambda: self.image,
            partitions=lambda: self.partitions,
            sessions=self.replica_sessions,
            in_doubt=self.leaders_in_doubt,
            disk_failed=self.directory_failed,
        )
        self.partitions = Partitions(
            self.node_id,
            self.clock,
            lambda: self.image,
            self.logs,
            self.log_config,
            self.directory_failed,
            self._replication,
        )
        self.partitions.on_followed = self._serving
        self._views: Views | None = None
        self._assignments = DirectoryAssignments(link, self.clock, self._facts.assignment)
        self.partitions.on_kept = self._kept
        self.lifecycle = Lifecycle(
            link,
            self._facts,
            self.clock,
            self.journal,
            self.config.broker_heartbeat_interval_ms,
            is_alone=lambda: base.quorum_watch.majority_is_gone,
        )
        self.auto_topics = AutoTopics(link, self.config, self.journal)
        self.producer_ids = BlockProducerIds(self._allocate_producer_ids)
        self._other_brokers = OtherBrokers(self._connections_for(base, "coordinator"), self.clock)
        self._groups = GroupWiring(config=self.config, clock=self.clock)
        self.groups = self._groups.shards
        self.streams = StreamsWiring(self._groups, link, self.clock, self.journal)
        self._transactions = TransactionWiring(
            node_id=self.node_id,
            config=self.config,
            clock=self.clock,
            other_nodes=self._other_brokers,
            image=lambda: self.image,
            partitions=self.partitions,
            producer_ids=self.producer_ids,
            find_group_shard=self.groups.active_shard,
            disk_failed=self.directory_failed,
        )
        self.transactions = self._transactions.transactions
        self.verification = self._transactions.verifier
        self.marker_writer = self._transactions.marker_writer
        self.shares = ShareWiring(
            node_id=self.node_id,
            config=self.config,
            clock=self.clock,
            other_nodes=self._other_brokers,
            image=lambda: self.image,
            partitions=self.partitions,
            groups=self.groups,
            create_topic=self.auto_create_topic,
            create_dead_letter_topic=self.auto_topics.create_for_dead_letters,
            topic_configs=self.topic_configs,
            journal=self.journal,
        )
        self.hooks = HookWiring(
            source=base.hooks.source,
            config=self.config,
            clock=self.clock,
            journal=self.journal,
            image=lambda: self.image,
            partitions=self.partitions,
            turn=turn,
        )
        self.relays = RelayWiring(
            node=cast("Node", base),
            clock=self.clock,
            journal=self.journal,
            other_nodes=self._other_brokers,
            turn=turn,
            listener=self.config.listening.inter_broker_name,
            image=lambda: self.image,
            topic_configs=self.topic_configs,
            partitions=self.partitions,
            create_topic=self.auto_create_topic,
            disk_failed=self.directory_failed,
            hook_of=self.hooks.of_relay,
        )
        self.partitions.on_leadership += [
            self._groups.leadership_changed,
            self.shares.leadership_changed,
            self._transactions.leadership_changed,
            self.relays.leadership_changed,
            self.hooks.leadership_changed,
        ]
        self.awaited_topics = AwaitedTopics(lambda: self.image, self.when_serving)
        self._awaited: dict[UUID, list[Callback]] = {}
        # The image has our registration once it is at that offset.
        self._on_caught_up: Callback | None = None
        self._opening: Job | None = None
        self._on_opened: Callback = _nothing
        self._follows = False
        self._is_stopping = False

    def _connections_for(self, base: NodeBase, purpose: str) -> BrokerConnections:
        """To other brokers."""
        return BrokerConnections(
            base.network,
            self.clock,
            self.rng,
            lambda: self.image,
            listener=self.config.listening.inter_broker_name,
            settings=peer_settings(self.config, purpose, base.logins),
        )

    # --- start ---

    def start(self, then: Callback) -> None:
        """`then` once this broker serves: it is unfenced and leads what it should."""
        self.quorum.subscribe(self._on_delta)
        self.config.when_altered(self._settings_changed)
        self.lifecycle.start(partial(self._catch_up, partial(self._follow, then)))

    def _catch_up(self, then: Callback) -> None:
        """Registered under an epoch, which is the offset of the record that says so."""
        self._on_caught_up = then
        self._look_whether_caught_up()

    def _look_whether_caught_up(self) -> None:
        if self._on_caught_up is not None and self.image.offset >= self._facts.epoch:
            caught_up, self._on_caught_up = self._on_caught_up, None
            caught_up()

    def _follow(self, then: Callback) -> None:
        """Open every log this node has, then ask to be unfenced. The loop goes on meanwhile."""
        if self._is_stopping:
            return
        self.logs.alter(directory_settings(self.config))
        self._bound_moves()
        self._opening = Job(self.clock, self._open(then))
        self._opening.start()

    def _open(self, then: Callback) -> Steps:
        yield from self.logs.load(self.log_config)
        self._follows = True
        if self._is_stopping:
            self._on_opened()
            return
        # By the metadata as it is now; what changes from here on is followed.
        self.logs.settle(self._is_stray)
        self._groups.follow(self.image, Delta())
        self.shares.follow(self.image, Delta())
        self.partitions.follow_all()
        self.partitions.when_followed(partial(self._get_ready, then))

    def _get_ready(self, then: Callback) -> None:
        """Everything here is what the metadata says."""
        self._transactions.start()
        self.shares.start()
        self.relays.start()
        self.logs.start()
        self._replication.start()
        self.lifecycle.ready(lambda: self.partitions.when_followed(then))

    # --- stop ---

    def stop(self, then: Callback) -> None:
        """Hand leaderships over, flush, and mark the directories cleanly shut down."""
        self._is_stopping = True
        self.lifecycle.leave(
            partial(self._handed_over, then), hands_over=self.config.controlled_shutdown_enable
        )

    def _handed_over(self, then: Callback) -> None:
        self.relays.close()
        self._transactions.close()
        self.shares.close()
        self._groups.close()
        self._replication.close()
        self.replica_sessions.close()
        self._assignments.close()
        self._other_brokers.close()
        self.leaders_in_doubt.close()
        self.partitions.close()
        self.hang_up(partial(self._close, then))

    def _close(self, then: Callback) -> None:
        if self._opening is not None and not self._follows:
            # Half of the marks of a clean shutdown are gone: all is opened first.
            self._on_opened = partial(self._close, then)
        elif self._follows:
            self.logs.close(self._facts.epoch, then)
        else:  # no log was opened: the mark that the last life left, if any, stays
            then()

    # --- what it knows ---

    @property
    def views(self) -> "Views":
        """Made when the first one is read."""
        if self._views is None:
            from kafkapy.broker.views.views import Views

            self._views = Views(
                self.node_id,
                self.clock,
                self.turn,
                self._replication,
                lambda: self.image,
                self.config.kafkapy_views_cache_bytes,
                self.hooks.of_view,
            )
        return self._views

    def group_lag(self) -> Iterator[LagFigure]:
        """How far each group that this node coordinates is behind, by partition."""
        return self._groups.lag_figures(self._end_offset)

    def _end_offset(self, partition: TopicPartition) -> int | None:
        """Followers know it too, a moment later than the leader."""
        found = self.partitions.shown(*partition)
        return None if found is None or found.is_offline else found.log.high_watermark

    def log_config(self, topic: str) -> LogConfig:
        overrides = self.image.configs(TOPIC_RESOURCE, topic)
        config = self.topic_configs.log_config(overrides)
        if SCHEMA_KEYS.isdisjoint(overrides):
            return config
        setting = partial(self.topic_configs.value, overrides=overrides)
        check = self.schema_ids.check_of(topic, setting)
        return replace(config, record_check=check)

    # --- metadata ---

    def _on_delta(self, image: MetadataImage, delta: Delta) -> None:
        """Committed records were folded into the image: act on what they changed."""
        if not delta.is_empty:
            self.encoded_metadata.clear()
            self.recently_dead.follow(image, delta)
            if self._follows:
                for resource_type, name in delta.configs:
                    if resource_type == TOPIC_RESOURCE:
                        self.partitions.reconfigure(name)
                self._groups.follow(image, delta)
                self.shares.follow(image, delta)
                self.hooks.follow(image, delta)
                self.relays.follow(delta)
                self.partitions.follow(delta)
                if self._views is not None:
                    self._views.follow(image, delta)
                self._replication.brokers_changed(delta.brokers)
                if METADATA_VERSION in delta.features:
                    self.partitions.reconfigure(None)  # perhaps it can be said now where they are
            if delta.features or self.node_id in delta.brokers:
                self.lifecycle.tell_directories()
            self.awaited_topics.look()
            self.leaders_in_doubt.follow(image, delta)
        self._look_whether_caught_up()

    def _settings_changed(self, _: frozenset[str]) -> None:
        """This broker's own, by the metadata."""
        if self._follows:
            self.logs.alter(directory_settings(self.config))
            self._bound_moves()
            self.partitions.reconfigure(None)

    def _bound_moves(self) -> None:
        """Between directories (kafka-reassign-partitions --replica-alter-log-dirs-throttle)."""
        self.logs.move_rate.limit = self.config.replica_alter_log_dirs_io_max_bytes_per_second

    def _serving(self, topic_id: UUID) -> None:
        for then in self._awaited.pop(topic_id, ()):
            then()

    def when_serving(self, topic_ids: Iterable[UUID], then: Callback) -> None:
        """`then` once the partitions of these topics that live here are served here."""
        missing = [one for one in topic_ids if not self.partitions.is_followed(one)]
        if not missing:
            then()
            return
        left = set(missing)

        def arrived(topic_id: UUID) -> None:
            left.discard(topic_id)
            if not left:
                then()

        for topic_id in missing:
            self._awaited.setdefault(topic_id, []).append(partial(arrived, topic_id))

    def auto_create_topic(self, name: str) -> ErrorCode:
        return self.auto_topics.create(name)

    def _allocate_producer_ids(self, then: Callable[[range | Refused], None]) -> None:
        def answered(answer: ProducerIdBlock | Refused) -> None:
            if isinstance(answer, Refused):
                then(answer)
            else:
                then(range(answer.first, answer.first + answer.count))

        self.link.allocate_producer_ids(self._facts.allocation(), answered)

    # --- directories ---

    def _cordoned_dirs(self) -> tuple[UUID, ...]:
        """What heartbeats tell the controller of directories that get no new replicas."""
        ids = self._log_dir_ids
        return tuple(ids[path] for path in self.logs.cordoned if path in ids)

    def _is_stray(self, topic_partition: TopicPartition, topic_id: UUID | None) -> bool:
        """Whether the metadata knows no such replica on this node."""
        topic = self.image.topics_by_name.get(topic_partition.topic)
        if topic is None or topic_id not in (None, topic.id):
            return True
        state = topic.partitions.get(topic_partition.partition)
        return state is None or self.node_id not in state.replicas

    def _log_moved(self, topic_partition: TopicPartition, log: PartitionLog) -> None:
        partition = self.partitions.get(*topic_partition)
        if partition is not None:
            partition.use(log)
            # Else it would go offline with the directory that it was last known to be in.
            self._tell_directory(self.logs.directory_id_of(log), (partition,))

    def _kept(self, partition: Partition, state: PartitionState) -> None:
        """The metadata spoke of a partition that lives here: does it know where?"""
        topic_id, index = partition.topic_id, partition.topic_partition.partition
        if partition.is_offline or self.image.metadata_version < DIRECTORY_ASSIGNMENT:
            return
        directory = self.logs.directory_id_of(partition.log)
        if state.directory(self.node_id) == directory:
            self._assignments.known(topic_id, index)
        else:
            self._assignments.tell(topic_id, index, directory)

    def directory_failed(self, failed: DiskFailed) -> None:
        """A log directory is gone: its partitions go offline, the others go on."""
        directory = self.logs.fail(failed)
        if directory is None:
            return
        lost = self.partitions.directory_failed(directory)
        self.journal.error(
            "log directory offline", directory=directory, reason=failed.cause, partitions=len(lost)
        )
        if not self.logs.has_online:
            self._end(failed)  # as Kafka halts
            return
        # Replicas are placed without naming their directory, and move: only we know what went with
        # it, and what did not. So the controller hears of that first.
        self._tell_directory(self._log_dir_ids[directory], lost)
        self._assignments.when_told(self._say_what_is_offline)

    def _say_what_is_offline(self) -> None:
        self._facts.offline_dirs = tuple(
            directory_id
            for path, directory_id in self._log_dir_ids.items()
            if self.logs.is_directory_offline(path)
        )
        self.lifecycle.say_now()

    def _tell_directory(self, directory_id: UUID, partitions: Iterable[Partition]) -> None:
        for one in partitions:
            self._assignments.tell(one.topic_id, one.topic_partition.partition, directory_id)


def _nothing() -> None:
    pass


def _nobody_is_connected(then: Callback) -> None:
    then()
