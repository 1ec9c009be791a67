"""What the controller must know of configuration, said by whoever owns the table of keys.

The table lives above (broker/config); the machines here ask through this seam, so that
they stay free of names, types and bounds. Values are text, as ConfigRecords hold them.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

Values = Mapping[str, str]


class TopicSetting(NamedTuple):
    """One line of CreateTopics' answer: a setting in force and where it comes from."""

    name: str
    value: str | None
    source: int
    is_sensitive: bool


class ConfigRules(Protocol):
    """`node` and `cluster` are the dynamic settings of this node and of all nodes."""

    @property
    def default_partitions(self) -> int: ...

    @property
    def default_replication_factor(self) -> int: ...

    @property
    def static_min_insync_replicas(self) -> int:
        """What server.properties says; written at bootstrap when ELR is on."""

    def check(self, resource_type: int, name: str, values: Values, before: Values) -> None:
        """Refused (INVALID_CONFIG, INVALID_REQUEST) unless `values` may stand."""

    def is_list(self, resource_type: int, key: str) -> bool: ...

    def default_of(self, resource_type: int, key: str) -> str | None:
        """What a list stands at before anything is appended to it."""

    def min_insync_replicas(self, topic: Values, node: Values, cluster: Values) -> int: ...

    def allows_unclean_election(self, topic: Values, node: Values, cluster: Values) -> bool: ...

    def topic_settings(
        self, topic: Values, node: Values, cluster: Values
    ) -> tuple[TopicSetting, ...]:
        """Every setting of a topic with these overrides, sorted by name."""
