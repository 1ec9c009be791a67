"""One node: the parts, how they hang together, and in which order they start and stop.

    identify directories -> recover logs -> open the metadata log -> lead the quorum
      -> register controller and broker -> follow the image -> unfenced: RUNNING
      -> lead every partition: started

Handlers reach everything through the attributes here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from uuid import UUID

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.rules import BrokerConfigRules
from kafkapy.broker.config.topic_config import TopicConfigs
from kafkapy.broker.controller.local import LocalController
from kafkapy.broker.fetch.sessions import FetchSessions
from kafkapy.broker.groups.coordinator import Groups
from kafkapy.broker.metadata.auto_topics import AutoTopics
from kafkapy.broker.metadata.cluster_view import ClusterView
from kafkapy.broker.node.endpoints import Endpoints
from kafkapy.broker.node.identity import Identity, identify
from kafkapy.broker.node.lifecycle import Lifecycle
from kafkapy.broker.node.settings import (
    controller_settings,
    cordoned_directories,
    directory_settings,
    quorum_settings,
)
from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.broker.requests.apis import apis_on
from kafkapy.broker.requests.turn import Turn
from kafkapy.broker.transactions.parts import ExactlyOnce, NobodyElse
from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.core.ids import NO_NODE, TopicPartition
from kafkapy.core.seams import Callback, Clock, Disk, Journal, Network, Rng
from kafkapy.group.lag import LagFigure
from kafkapy.kraft.controller.controller import Controller
from kafkapy.kraft.controller.directories import ReplicaDirectory
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from kafkapy.kraft.metadata_quorum import MetadataQuorum
from kafkapy.kraft.quorum.voters import VoterAddress
from kafkapy.kraft.records.metadata import MetadataRecord
from kafkapy.log.config import LogConfig
from kafkapy.log.directories.all_logs import AllLogs
from kafkapy.log.partition_log import PartitionLog
from kafkapy.txn.producer_ids import BlockProducerIds


class Node:
    """Made once per process (or per test, or per simulated node); `start`, then `stop`."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        journal: Journal,
        bound_ports: Mapping[str, int],
        network: Network | None = None,
        host: str = "127.0.0.1",
        turn: Turn | None = None,
    ) -> None:
        self.config = config
        self.turn = turn or Turn()
        self.apis_on = apis_on
        self.disk = disk
        self.clock = clock
        self.rng = rng
        self.journal = journal
        self.node_id: int = config.node_id
        self.endpoints = Endpoints(config, bound_ports, host)
        self.identity: Identity = identify(
            disk, rng, clock.now(), journal, config, self._controller_address()
        )
        self.cluster_id = self.identity.cluster_id
        self.topic_configs = TopicConfigs(config)
        self.fetch_sessions = FetchSessions(config.max_incremental_fetch_session_cache_slots, rng)
        # (version, listener) -> the body of Metadata about all topics; see handlers/metadata.
        self.encoded_metadata: dict[tuple[int, str], bytes] = {}
        # Of those for partitions that can be read; the metadata log's may be another one.
        self._log_dir_ids = {
            path: self.identity.directory_ids[path]
            for path in config.data_directories
            if path not in self.identity.failed
        }
        self.logs = AllLogs(
            disk,
            clock,
            rng,
            journal,
            self._log_dir_ids,
            directory_settings(config),
            failed=self.identity.failed,
        )
        self.logs.on_failed = self.directory_failed
        self.logs.on_moved = self._log_moved
        self.quorum = MetadataQuorum(
            disk,
            clock,
            rng,
            config.metadata_directory,
            quorum_settings(config, self.identity, self.endpoints),
            journal=journal,
        )
        self.quorum.on_failed = self._metadata_disk_failed
        self.cluster = ClusterView(lambda: self.image)
        self.controller = Controller(
            settings=controller_settings(config, self.cluster_id),
            rules=BrokerConfigRules(config),
            clock=clock,
            rng=rng,
            log=self.quorum,
        )
        self.partitions = Partitions(
            self.node_id,
            clock,
            lambda: self.image,
            self.logs,
            self.log_config,
            self.directory_failed,
        )
        self.partitions.on_followed = self._serving
        self.auto_topics = AutoTopics(self.controller, config, journal)
        self.link = LocalController(
            self.controller,
            broker_id=self.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=rng.uuid(),
            endpoints=self.endpoints.broker,
            controller_endpoints=self.endpoints.controller,
            rack=config.broker_rack,
            log_dirs=tuple(self._log_dir_ids.values()),
            previous_epoch=self.logs.previous_broker_epoch,
            cordoned_dirs=self._cordoned_dirs,
            metadata_offset=lambda: self.image.offset,
        )
        self.producer_ids = BlockProducerIds(self.link.allocate_producer_ids)
        self._groups = Groups(config=config, clock=clock)
        self.groups = self._groups.coordinator
        self._exactly_once = ExactlyOnce(
            node_id=self.node_id,
            config=config,
            clock=clock,
            network=network or NobodyElse(),
            image=lambda: self.image,
            partitions=self.partitions,
            producer_ids=self.producer_ids,
            find_group_shard=self.groups.active_shard,
            disk_failed=self.directory_failed,
        )
        self.transactions = self._exactly_once.transactions
        self.verification = self._exactly_once.verification
        self.marker_writer = self._exactly_once.marker_writer
        self.partitions.on_leadership += [
            self._groups.leadership_changed,
            self._exactly_once.leadership_changed,
        ]
        self.lifecycle = Lifecycle(self.link, clock, journal, config.broker_heartbeat_interval_ms)
        self._awaited: dict[UUID, list[Callback]] = {}
        self._follows = False
        # What ends the process when it must not go on; the shell says how. On the loop, not
        # out of a request, where it would be taken for a bug of that request.
        self.on_fatal: Callable[[DiskFailed], None] = _stop_here

    @property
    def image(self) -> MetadataImage:
        """The cluster's metadata, as far as it is committed and known here."""
        return self.quorum.image

    # --- start ---

    def start(self, then: Callback) -> None:
        """`then` once this node serves: it is unfenced and leads what it should."""
        self.quorum.subscribe(self._on_delta)
        self.quorum.on_lead = partial(self._lead, then)
        self.quorum.on_resign = self.controller.resign
        self.quorum.start()

    def _lead(
        self, then: Callback, image: MetadataImage, bootstrap: Sequence[MetadataRecord]
    ) -> None:
        self.controller.lead(image, bootstrap, kraft_version=self.quorum.kraft_version)
        self.link.register_controller(lambda _: self.lifecycle.start(partial(self._follow, then)))

    def _follow(self, then: Callback) -> None:
        """Registered: open every log this node has, then ask to be unfenced."""
        self._reconfigure_broker()
        self.logs.load(self.log_config, self._is_stray)
        self._groups.follow(self.image, Delta())
        self.partitions.follow_all()
        self._exactly_once.start()
        self._follows = True
        self.logs.start()
        self.lifecycle.ready(then)

    # --- stop ---

    def stop(self, then: Callback) -> None:
        """Hand leaderships over, flush, and mark the directories cleanly shut down."""
        self.lifecycle.leave(partial(self._close, then))

    def _close(self, then: Callback) -> None:
        self._exactly_once.close()
        self._groups.close()
        self.partitions.close()
        self.controller.resign()
        self.logs.close(self.link.epoch, lambda: self.quorum.close(lambda _: then()))

    # --- what it knows ---

    def group_lag(self) -> Iterator[LagFigure]:
        """How far each group that this node coordinates is behind, by partition."""
        return self._groups.lag_figures(self._end_offset)

    def _end_offset(self, partition: TopicPartition) -> int | None:
        """Followers know it too, a moment later than the leader."""
        found = self.partitions.get(*partition)
        return None if found is None or found.is_offline else found.log.high_watermark

    # --- metadata ---

    def _on_delta(self, image: MetadataImage, delta: Delta) -> None:
        """Committed records were folded into the image: act on what they changed."""
        if delta.is_empty:
            return
        self.encoded_metadata.clear()
        if not self._follows:
            return
        for resource_type, name in delta.configs:
            if resource_type == TOPIC_RESOURCE:
                self.partitions.reconfigure(name)
            elif resource_type == BROKER_RESOURCE and name in ("", str(self.node_id)):
                self._reconfigure_broker()
        self._groups.follow(image, delta)
        self.partitions.follow(delta)

    def _serving(self, topic_id: UUID) -> None:
        for then in self._awaited.pop(topic_id, ()):
            then()

    def _reconfigure_broker(self) -> None:
        changed = self.config.alter(
            cluster=self.image.configs(BROKER_RESOURCE, ""),
            broker=self.image.configs(BROKER_RESOURCE, str(self.node_id)),
        )
        if changed:
            self.logs.cordoned = cordoned_directories(self.config)
            self.partitions.reconfigure(None)

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

    def log_config(self, topic: str) -> LogConfig:
        return self.topic_configs.log_config(self.image.configs(TOPIC_RESOURCE, topic))

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

    # --- failures ---

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
        ids = self._log_dir_ids
        self.link.offline_dirs = tuple(
            directory_id
            for path, directory_id in ids.items()
            if self.logs.is_directory_offline(path)
        )
        # Replicas are placed without naming their directory: only we know what went with it.
        self.link.assign(
            ReplicaDirectory(ids[directory], one.topic_id, one.topic_partition.partition)
            for one in lost
        )

    def _metadata_disk_failed(self, failed: DiskFailed) -> None:
        """Without its metadata log a node knows nothing: it must not go on."""
        self.journal.error("metadata log failed", reason=failed)
        self._end(failed)

    def _end(self, failed: DiskFailed) -> None:
        """What refused to write has an answer to send first."""
        self.clock.call_soon(lambda: self.on_fatal(failed))

    # --- who is who ---

    @property
    def controller_id(self) -> int:
        leader_id = self.quorum.leader_id
        return NO_NODE if leader_id is None else leader_id

    def _controller_address(self) -> VoterAddress | None:
        own = self.endpoints.controller
        return VoterAddress(own[0].name, own[0].host, own[0].port) if own else None


def _stop_here(failed: DiskFailed) -> None:
    raise failed
