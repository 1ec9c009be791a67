"""Records go once all share groups are done with them (kafkapy.retention.follows.share.groups).

    now and then, for the partitions of such topics that this node leads:
      every coordinator of groups --> which share groups there are
      their share coordinators    --> where each group is in each partition
      the log begins at the smallest of these offsets

A group counts that reads the partition or has, whether or not anybody of it is there now. Nothing
goes while not all coordinators answer, nor where no group reads. The topic's own retention
goes on: it bounds how much a group that never comes back can keep.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.topic_config import TopicConfigs
from kafkapy.broker.groups.listing import list_groups
from kafkapy.broker.metadata.internal_topics import CONSUMER_OFFSETS
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.broker.share.led import LedShares
from kafkapy.coordinator.shards import Shards
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import NO_NODE
from kafkapy.core.seams import Clock, OtherNodes, Timer
from kafkapy.core.time import later
from kafkapy.group.admin import GroupsListed, ListGroups
from kafkapy.kraft.image.image import TOPIC_RESOURCE, MetadataImage
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.share.coordinator.events import NOTHING_READ, ReadSummary, SummaryRead
from kafkapy.share.coordinator.state import ShareKey

FOLLOWS: Final = "kafkapy.retention.follows.share.groups"
_SHARE: Final = "share"
# The state epoch of a group that does not read the partition: those that do begin at 1.
_NOT_READING: Final = 0
_LIST_GROUPS_VERSION: Final = 5
_REQUEST_TIMEOUT_MS: Final = 10_000

Groups = Callable[["list[str] | None"], None]


class FollowingRetention:
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
        led: LedShares,
        topic_configs: TopicConfigs,
    ) -> None:
        self._node_id = node_id
        self._config = config
        self._clock = clock
        self._other_nodes = other_nodes
        self._image = image
        self._partitions = partitions
        self._groups = groups
        self._led = led
        self._topic_configs = topic_configs
        self._timer: Timer | None = None

    def start(self) -> None:
        when = later(self._clock.now(), self._config.kafkapy_share_retention_interval_ms)
        self._timer = self._clock.call_at(when, self._time_is_up)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_is_up(self) -> None:
        self.start()
        partitions = [one for one in self._partitions if self._follows(one)]
        if partitions:
            self._ask_for_groups(partial(self._found, partitions))

    def _follows(self, partition: Partition) -> bool:
        if not partition.is_leader or partition.is_internal:
            return False
        overrides = self._image().configs(TOPIC_RESOURCE, partition.topic_partition.topic)
        if FOLLOWS not in overrides or not self._topic_configs.value(FOLLOWS, overrides):
            return False
        return not partition.log.config.is_compacted

    # Which groups there are

    def _ask_for_groups(self, then: Groups) -> None:
        """`then` gets their names, or None if not everybody can tell."""
        topic = self._image().topics_by_name.get(CONSUMER_OFFSETS)
        if topic is None:
            return
        leaders = {one.leader for one in topic.partitions.values()}
        if NO_NODE in leaders:
            return
        found: list[str] | None = []
        left = len(leaders)

        def heard(names: list[str] | None) -> None:
            nonlocal found, left
            left -= 1
            found = None if found is None or names is None else found + names
            if not left:
                then(found)

        for leader in sorted(leaders):
            if leader == self._node_id:
                event = ListGroups(frozenset(), frozenset({_SHARE}))
                self._list_here(event, heard)
            else:
                body = {"states_filter": [], "types_filter": [_SHARE]}
                self._other_nodes.call(
                    leader,
                    ApiKey.LIST_GROUPS,
                    _LIST_GROUPS_VERSION,
                    body,
                    _REQUEST_TIMEOUT_MS,
                    partial(_listed_there, heard),
                )

    def _list_here(self, event: ListGroups, heard: Groups) -> None:
        names: list[str] | None = []

        def page(listed: GroupsListed | Refused) -> None:
            nonlocal names
            if isinstance(listed, Refused):
                names = None
            elif names is not None:
                names += [one.group_id for one in listed.groups]

        list_groups(self._clock, self._groups, event, page, lambda: heard(names))

    # Where they are

    def _found(self, partitions: list[Partition], groups: list[str] | None) -> None:
        for partition in partitions if groups else ():
            assert groups is not None
            keys = [
                ShareKey(one, partition.topic_id, partition.topic_partition.partition)
                for one in groups
            ]
            self._led.states.ask_all(
                [ReadSummary(key, 0) for key in keys], partial(self._read, partition, keys)
            )

    def _read(self, partition: Partition, keys: list[ShareKey], replies: list[Any]) -> None:
        if any(isinstance(one, Refused) for one in replies):
            return
        starts = [
            self._start(key, one)
            for key, one in zip(keys, replies, strict=True)
            if one.state_epoch != _NOT_READING
        ]
        if not starts or not partition.is_leader:
            return
        start = min(starts)
        if start == NOTHING_READ:
            return  # who has begun to read, and where, nobody has written down yet
        try:
            partition.begin_later(min(start, partition.log.high_watermark))
        except DiskFailed as failed:
            partition.disk_failed(failed)

    def _start(self, key: ShareKey, written: SummaryRead) -> int:
        """Written it is with the group's next acknowledgement; known where it is led: here."""
        share = self._led.get(key)
        if share is None or share.state_epoch != written.state_epoch:
            return written.start_offset  # altered: what is led here is of yesterday
        return max(written.start_offset, share.machine.start_offset)


def _listed_there(heard: Groups, response: Any) -> None:
    if isinstance(response, Exception) or response.error_code != ErrorCode.NONE:
        heard(None)
    else:
        heard([one.group_id for one in response.groups])
