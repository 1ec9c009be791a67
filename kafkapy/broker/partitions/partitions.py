"""Every partition that lives on this node, kept in step with the metadata image.

    image delta --> create or delete logs, take or give up leadership --> on_leadership
                                                                  \\-> on_followed (topic)

Files are made and put aside in the order of the metadata, some at a time: thousands of
partitions that come or go together hold up nobody else's request. Whoever asks for one that
is still to come is told to try again, as one is by a broker that has yet to hear of it.

Lookups tell apart what clients must be told apart: a topic that does not exist, one whose
id is unknown, and one that exists but is led elsewhere.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Final, Protocol
from uuid import UUID

from kafkapy.broker.partitions.needs import HasReplicas
from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.jobs import Job, Steps
from kafkapy.core.seams import Callback, Clock
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import PartitionState, TopicState
from kafkapy.kraft.uuids import MIGRATING, UNASSIGNED
from kafkapy.kraft.views import IsView, source_of
from kafkapy.log.config import LogConfig
from kafkapy.log.directories.all_logs import AllLogs

# What the steps of the backlog cost: files made or put aside, a role changed.
_FILES_COST_US: Final = 800
_ROLE_COST_US: Final = 20
_NOT_ASSIGNED: Final = (None, MIGRATING, UNASSIGNED)


class Replicates(HasReplicas, Protocol):
    """The broker's part in replication, as partitions come, go and change their leaders."""

    def follow(self, partition: Partition) -> None: ...

    def forget(self, partition: Partition) -> None: ...


class Partitions:
    """The registry. `on_leadership` listeners hear (partition, is_leader) after a change;
    `on_followed` hears of each topic whose partitions all are what the metadata says, `on_kept`
    of each partition here that the metadata said something of."""

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        image: Callable[[], MetadataImage],
        logs: AllLogs,
        config_for: Callable[[str], LogConfig],
        disk_failed: Callable[[DiskFailed], None],
        replication: Replicates,
    ) -> None:
        self._replication = replication
        self._node_id = node_id
        self._clock = clock
        self._current_image = image
        self._logs = logs
        self._config_for = config_for
        self._disk_failed = disk_failed
        self._by_name: dict[tuple[str, int], Partition] = {}
        self._by_id: dict[tuple[UUID, int], Partition] = {}
        self.on_leadership: list[Callable[[Partition, bool], None]] = []
        self.on_deleted: list[Callable[[TopicPartition], None]] = []
        self.on_followed: Callable[[UUID], None] = _nobody_listens
        self.on_kept: Callable[[Partition, PartitionState], None] = _nobody_minds
        # Steps in the order of the metadata; each returns what it cost.
        self._backlog: deque[Callable[[], int]] = deque()
        self._work: Job | None = None
        self._pending: dict[UUID, int] = {}  # topic -> how often it is in the backlog

    @property
    def _image(self) -> MetadataImage:
        return self._current_image()

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._by_name.values())

    def snapshot(self) -> list[Partition]:
        """At once, so that another thread may ask for it too (kafkapy/http)."""
        return list(self._by_name.values())

    def get(self, topic: str, index: int) -> Partition | None:
        return self._by_name.get((topic, index))

    # --- lookups for handlers ---

    def find(self, name: str | None, topic_id: UUID | None, index: int) -> Partition | None:
        if name is not None:
            return self._by_name.get((name, index))
        return None if topic_id is None else self._by_id.get((topic_id, index))

    def hosted(self, name: str | None, topic_id: UUID | None, index: int) -> Partition:
        """The partition, if it lives here. Raises Refused."""
        partition = self.find(name, topic_id, index)
        if partition is None:
            raise self._not_here(name, topic_id, index)
        return partition

    def readable(self, name: str | None, topic_id: UUID | None, index: int) -> Partition:
        """As `hosted`; of a view the partition of its source, which has all its offsets."""
        try:
            return self.hosted(name, topic_id, index)
        except IsView as view:
            return self.hosted(None, view.source.id, index)

    def shown(self, name: str, index: int) -> Partition | None:
        """As `get`; of a view the partition of its source."""
        partition = self._by_name.get((name, index))
        if partition is None and (topic := self._image.topics_by_name.get(name)) is not None:
            source = source_of(self._image, topic)
            return None if source is None else self._by_name.get((source.name, index))
        return partition

    def current_leader(
        self, name: str | None, topic_id: UUID | None, index: int
    ) -> tuple[int, int] | None:
        """(leader, epoch) by the metadata, for the hints of KIP-951."""
        if name is not None:
            state = self._image.partition_by_name(name, index)
        else:
            state = None if topic_id is None else self._image.partition(topic_id, index)
        return None if state is None else (state.leader, state.leader_epoch)

    def _not_here(self, name: str | None, topic_id: UUID | None, index: int) -> Refused:
        image = self._image
        if name is None and topic_id not in image.topics_by_id:
            return Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        topic = image.topics_by_name.get(name) if name is not None else _by_id(image, topic_id)
        if topic is not None and (source := source_of(image, topic)) is not None:
            return IsView(topic, source)
        if self.current_leader(name, topic_id, index) is None:
            return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        topic_name = self._image.topics_by_id[topic_id].name if topic_id is not None else name
        assert topic_name is not None, "its id is known, so its name is"
        if self._logs.is_offline(TopicPartition(topic_name, index)):
            return Refused(ErrorCode.KAFKA_STORAGE_ERROR)
        return Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    # --- following the metadata ---

    def follow(self, delta: Delta) -> None:
        """Make this node's logs and roles what the image says now, or soon."""
        for topic in delta.topics_deleted.values():
            for index in topic.partitions:
                self._delete(topic, index)
        for topic_id, touched in delta.partitions.items():
            self._follow_later(topic_id, touched)
        for topic_id in delta.topics_created.keys() - delta.partitions.keys():
            self._follow_later(topic_id, ())  # views: there is nothing to do, which is told
        self._go_on()

    def _follow_later(self, topic_id: UUID, indexes: Iterable[int]) -> None:
        self._backlog.extend([partial(self._follow_newest, topic_id, one) for one in indexes])
        self._backlog.append(partial(self._followed, topic_id))
        self._pending[topic_id] = self._pending.get(topic_id, 0) + 1

    def _go_on(self) -> None:
        if self._work is None or self._work.is_over:
            self._work = Job(self._clock, self._work_off())
            self._work.start()

    def follow_all(self) -> None:
        """At start: every partition of the image that lives here, or will soon."""
        for topic in self._image.topics_by_id.values():
            here = [
                index
                for index, state in topic.partitions.items()
                if self._node_id in state.replicas
            ]
            if here:
                self._follow_later(topic.id, here)
        self._go_on()

    def is_followed(self, topic_id: UUID) -> bool:
        """Whether all partitions of a topic are what the metadata says."""
        return topic_id in self._image.topics_by_id and topic_id not in self._pending

    def when_followed(self, then: Callback) -> None:
        """`then` once this node is what the metadata says by now."""

        def told() -> int:
            then()
            return 0

        if self._backlog:
            self._backlog.append(told)
        else:
            then()

    def close(self) -> None:
        """What is still to be done is done by the next start."""
        self._backlog.clear()

    def _work_off(self) -> Steps:
        while self._backlog:
            yield self._backlog.popleft()()

    def _follow_newest(self, topic_id: UUID, index: int) -> int:
        """As the metadata has it by now: the topic may have gone meanwhile."""
        topic = self._image.topics_by_id.get(topic_id)
        if topic is None or index not in topic.partitions:
            return 0
        is_there = self._logs.get(TopicPartition(topic.name, index)) is not None
        self._follow_partition(topic, index)
        is_made = not is_there and (topic.name, index) in self._by_name
        return _FILES_COST_US if is_made else _ROLE_COST_US

    def _followed(self, topic_id: UUID) -> int:
        self._pending[topic_id] -= 1
        if not self._pending[topic_id]:
            del self._pending[topic_id]
            self.on_followed(topic_id)
        return 0

    def reconfigure(self, topic: str | None) -> None:
        """A topic's settings (None: every topic's) have changed: they act at once, after what the
        metadata said before. Fewer in sync may be enough now, but not for a leader that has not
        been told yet that another leads."""
        if topic is None:
            topics = list(self._image.topics_by_name.values())
        else:
            found = self._image.topics_by_name.get(topic)
            topics = [] if found is None else [found]
        for one in topics:
            config = self._config_for(one.name)
            for index in one.partitions:
                partition = self._by_name.get((one.name, index))
                if partition is not None and partition.topic_id == one.id:
                    self._follow_partition(one, index)
                    partition = self._by_name.get((one.name, index))
                if partition is not None:
                    self._logs.reconfigure(partition.topic_partition, config)
                    partition.reconfigured()

    def _follow_partition(self, topic: TopicState, index: int) -> None:
        state = topic.partitions[index]
        key = (topic.name, index)
        partition = self._by_name.get(key)
        if self._node_id not in state.replicas:
            if partition is not None:
                self._delete(topic, index)
            return
        if partition is None:
            partition = self._create(topic, index, state)
            if partition is None:
                return
        followed = (partition.leader, partition.leader_epoch)
        if partition.follow_metadata(state):
            for heard in self.on_leadership:
                heard(partition, partition.is_leader)
        if (partition.leader, partition.leader_epoch) != followed:
            self._replication.follow(partition)
        self.on_kept(partition, state)

    def _create(self, topic: TopicState, index: int, state: PartitionState) -> Partition | None:
        topic_partition = TopicPartition(topic.name, index)
        directory = state.directory(self._node_id)
        node = self._node_id
        counts = node in state.isr or node in state.elr or node in state.last_known_elr
        try:
            log = self._logs.get_or_create(
                topic_partition,
                topic.id,
                self._config_for(topic.name),
                assigned=None if directory in _NOT_ASSIGNED else directory,
                may_be_old=counts and state.partition_epoch > 0,
            )
        except DiskFailed:
            return None  # the directory has gone offline and says so itself
        except Refused:
            return None  # where it is, or may be, has been offline since before
        partition = Partition(
            topic_partition, topic.id, self._node_id, log, self._disk_failed, self._replication
        )
        self._by_name[topic_partition] = partition
        self._by_id[topic.id, index] = partition
        return partition

    def _delete(self, topic: TopicState, index: int) -> None:
        partition = self._by_name.pop((topic.name, index), None)
        if partition is None:
            return
        del self._by_id[topic.id, index]
        was_leader = partition.is_leader
        self._replication.forget(partition)
        partition.retire()
        if was_leader:
            for heard in self.on_leadership:
                heard(partition, False)
        for deleted in self.on_deleted:
            deleted(partition.topic_partition)
        self._backlog.append(partial(self._put_aside, partition.topic_partition))

    def _put_aside(self, topic_partition: TopicPartition) -> int:
        if topic_partition in self._by_name:
            return 0  # it lives here again, and goes on with what it had
        with suppress(DiskFailed):  # the directory has gone offline and says so itself
            self._logs.delete(topic_partition)
        return _FILES_COST_US

    def directory_failed(self, directory: str) -> list[Partition]:
        """Everything in `directory` is gone until the node restarts with a good disk."""
        lost = [
            one
            for one in self._by_name.values()
            if one.log.directory.rpartition("/")[0] == directory
        ]
        for partition in lost:
            was_leader = partition.is_leader
            self._replication.forget(partition)
            partition.go_offline()
            if was_leader:
                for heard in self.on_leadership:
                    heard(partition, False)
        return lost


def _by_id(image: MetadataImage, topic_id: UUID | None) -> TopicState | None:
    return None if topic_id is None else image.topics_by_id.get(topic_id)


def _nobody_listens(_: UUID) -> None:
    pass


def _nobody_minds(_: Partition, __: PartitionState) -> None:
    pass
