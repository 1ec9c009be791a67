"""Which partitions of a session are read first: by weight and age, so that nobody starves.

A topic has a weight (kafkapy.share.weight). The record of a partition that is next counts as
waiting its weight times as long as it does, and the one that has waited longest is first:

    urgent (100)  waits 2 s: 200     bulk (1)  waits 150 s: 150     --> urgent, then bulk

High goes before low so, and low before high once it has waited longer by more than the weights'
ratio: under overload waiting times relate as the weights do, and what is lowest goes on. It is
what queueing theory calls delay-dependent or accumulating priorities (Kleinrock, 1964). Where
all topics of a session weigh the same, they are read in turns.

Known of here is what this node leads; a consumer asks each leader by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafkapy.broker.config.topic_config import TopicConfigs
from kafkapy.broker.share.sessions import Place
from kafkapy.core.errors import DiskFailed, Refused
from kafkapy.core.seams import Clock
from kafkapy.core.time import Instant
from kafkapy.kraft.image.image import TOPIC_RESOURCE, MetadataImage
from kafkapy.protocol.batches.batch import read_header

if TYPE_CHECKING:
    from kafkapy.broker.share.led import LedShare

WEIGHT: Final = "kafkapy.share.weight"
_USUAL: Final = 1


class Priorities:
    def __init__(
        self, clock: Clock, image: Callable[[], MetadataImage], topic_configs: TopicConfigs
    ) -> None:
        self._clock = clock
        self._image = image
        self._topic_configs = topic_configs

    def order(self, places: Sequence[Place], led: "Mapping[Place, LedShare]") -> "Sequence[Place]":
        """The same, what is most urgent first; as they are where nothing tells them apart."""
        weights = {place: self._weight(led[place]) for place in places if place in led}
        if len(set(weights.values())) < 2:
            return places
        wall = self._clock.wall()

        def urgency(place: Place) -> int:
            weight = weights.get(place)
            return 0 if weight is None else weight * _waited_ms(led[place], wall)

        return sorted(places, key=urgency, reverse=True)

    def _weight(self, share: "LedShare") -> int:
        overrides = self._image().configs(TOPIC_RESOURCE, share.partition.topic_partition.topic)
        if WEIGHT not in overrides:
            return _USUAL
        weight = self._topic_configs.value(WEIGHT, overrides)
        assert isinstance(weight, int), weight
        return weight


def _waited_ms(share: "LedShare", wall: Instant) -> int:
    """How long the record that is next has waited, by its timestamp; 0 if there is none."""
    offset, log = share.machine.fetch_offset, share.partition.log
    if offset is None or offset >= log.high_watermark:
        return 0
    if share.next_up is None or share.next_up[0] != offset:
        share.next_up = (offset, _timestamp_at(share, offset))
    return max(1, wall - share.next_up[1])


def _timestamp_at(share: "LedShare", offset: int) -> int:
    """Of its batch, as it begins. What cannot be read is as old as can be: reading it says why."""
    log = share.partition.log
    try:
        at = max(offset, log.log_start_offset)
        _, slices, size = log.read(at, 1, upper=log.high_watermark, min_one_batch=True)
        data = b"".join(one.read() for one in slices)
        for one in slices:
            one.release()
    except (Refused, DiskFailed):
        return 0
    if not size:
        return 0
    header = read_header(data)
    return header.max_timestamp if header.is_log_append_time else header.base_timestamp
