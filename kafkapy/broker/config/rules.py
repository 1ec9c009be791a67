"""The table of keys, as the controller asks for it (kafkapy.kraft.controller.rules)."""

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.client_metrics import ClientMetricsKeys, check_client_metrics
from kafkapy.broker.config.group_config import check_group
from kafkapy.broker.config.resolve import Layers, Source, inherited
from kafkapy.broker.config.resources import Resource
from kafkapy.broker.config.table.broker_keys import BrokerKeys
from kafkapy.broker.config.table.key import ConfigType, Section
from kafkapy.broker.config.table.keys.group import GroupConfigKeys
from kafkapy.broker.config.table.keys.topic import TopicKeys
from kafkapy.broker.config.table.values import to_text
from kafkapy.broker.config.topic_config import check_topic
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.rules import TopicSetting, Values
from kafkapy.kraft.controller.topics.names import check_name

_TABLES: dict[int, type[Section]] = {
    Resource.TOPIC: TopicKeys,
    Resource.BROKER: BrokerKeys,
    Resource.CLIENT_METRICS: ClientMetricsKeys,
    Resource.GROUP: GroupConfigKeys,
}


class BrokerConfigRules:
    """Implements `ConfigRules` for a node with this configuration."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config

    @property
    def default_partitions(self) -> int:
        return self._config.num_partitions

    @property
    def default_replication_factor(self) -> int:
        return self._config.default_replication_factor

    @property
    def static_min_insync_replicas(self) -> int:
        return int(self._config.static.get("min.insync.replicas", "1"))

    def check(self, resource_type: int, name: str, values: Values, before: Values) -> None:
        match resource_type:
            case Resource.TOPIC:
                if not name:
                    raise Refused(
                        ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed."
                    )
                check_name(name)
                check_topic(values, self._config, before)
            case Resource.BROKER:
                _check_node_name(name)
            case Resource.CLIENT_METRICS:
                check_client_metrics(name, values)
            case Resource.GROUP:
                check_group(name, values, self._config)
            case _:
                raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource_type}")

    def is_list(self, resource_type: int, key: str) -> bool:
        """Lists of subscriptions are set as a whole, as by Apache Kafka."""
        if resource_type == Resource.CLIENT_METRICS:
            return False
        found = _TABLES[resource_type].table.get(key) if resource_type in _TABLES else None
        return found is not None and found.kind is ConfigType.LIST

    def default_of(self, resource_type: int, key: str) -> str | None:
        table = _TABLES[resource_type].table
        return to_text(table[key].default_value) if key in table else None

    def min_insync_replicas(self, topic: Values, node: Values, cluster: Values) -> int:
        value = self._topic_value("min.insync.replicas", topic, node, cluster)
        return int(value)

    def allows_unclean_election(self, topic: Values, node: Values, cluster: Values) -> bool:
        value = self._topic_value("unclean.leader.election.enable", topic, node, cluster)
        return value.strip().lower() == "true"

    def topic_settings(
        self, topic: Values, node: Values, cluster: Values
    ) -> tuple[TopicSetting, ...]:
        layers = Layers(node, cluster, self._config.static)
        settings = []
        for name, key in sorted(TopicKeys.table.items()):
            if name in topic:
                settings.append(TopicSetting(name, topic[name], Source.TOPIC, key.is_sensitive))
            elif not key.is_internal:
                found = inherited(key, layers)
                settings.append(TopicSetting(name, found.value, found.source, key.is_sensitive))
        return tuple(settings)

    def _topic_value(self, name: str, topic: Values, node: Values, cluster: Values) -> str:
        text = topic.get(name)
        if text is None:
            text = inherited(
                TopicKeys.table[name], Layers(node, cluster, self._config.static)
            ).value
        assert text is not None, name
        return text


def _check_node_name(name: str) -> None:
    if name and not name.isdecimal():
        raise Refused(ErrorCode.INVALID_REQUEST, "Unable to parse broker name as a base 10 number.")
