"""What share partitions act on of the node's settings and of their groups' own."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.group_config import group_value
from kafkapy.broker.config.resources import Resource
from kafkapy.kraft.features import DEAD_LETTERS, SHARE_VERSION
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.share.partition import ShareLimits

EARLIEST: Final = "earliest"
LATEST: Final = "latest"
_BY_DURATION: Final = "by_duration:"
_DURATION: Final = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?)?", re.IGNORECASE
)
_NO_OVERRIDES: Final[Mapping[str, str]] = {}


class DeadLetterSettings(NamedTuple):
    """`copies`: key and value go along, not only where the record was."""

    topic: str
    copies: bool


class ShareSettings:
    """Asked at every use: the node's settings and the groups' may change."""

    def __init__(self, config: BrokerConfig, image: MetadataImage) -> None:
        self._config = config
        self._image = image

    @property
    def is_enabled(self) -> bool:
        return self._image.features.get(SHARE_VERSION, 0) > 0

    def limits(self, group_id: str) -> ShareLimits:
        own = self._own(group_id)
        return ShareLimits(
            delivery_count_limit=self._number("share.delivery.count.limit", own),
            record_lock_duration_ms=self._number("share.record.lock.duration.ms", own),
            max_record_locks=self._number("share.partition.max.record.locks", own),
            has_dead_letters=self.dead_letters(group_id) is not None,
            may_renew=bool(group_value("share.renew.acknowledge.enable", own, self._config)),
        )

    def dead_letters(self, group_id: str) -> "DeadLetterSettings | None":
        """None if the group has no dead letter topic, or the cluster has not agreed on such."""
        if self._image.features.get(SHARE_VERSION, 0) < DEAD_LETTERS:
            return None
        own = self._own(group_id)
        topic = str(group_value("errors.deadletterqueue.topic.name", own, self._config))
        copies = bool(group_value("errors.deadletterqueue.copy.record.enable", own, self._config))
        return DeadLetterSettings(topic, copies) if topic else None

    def reads_committed(self, group_id: str) -> bool:
        own = self._own(group_id)
        return group_value("share.isolation.level", own, self._config) == "read_committed"

    def reset(self, group_id: str) -> "str | int":
        """`earliest`, `latest`, or how many milliseconds ago."""
        value = str(group_value("share.auto.offset.reset", self._own(group_id), self._config))
        if value.startswith(_BY_DURATION):
            return milliseconds(value.removeprefix(_BY_DURATION))
        return value

    def _own(self, group_id: str) -> Mapping[str, str]:
        return self._image.all_configs.get((Resource.GROUP, group_id), _NO_OVERRIDES)

    def _number(self, name: str, own: Mapping[str, str]) -> int:
        value = group_value(name, own, self._config)
        assert isinstance(value, int), (name, value)
        return value


def milliseconds(duration: str) -> int:
    """Of an ISO 8601 duration without months and years, as Java's Duration takes it."""
    found = _DURATION.fullmatch(duration)
    assert found is not None, ("checked when it was set", duration)
    days, hours, minutes, seconds = (float(one or 0) for one in found.groups())
    return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
