"""Settings of a topic or a broker as Kafka describes them: values, who set them, what they mean."""

from typing import Any, Final

from kafkapy.broker.config.resources import Resource
from kafkapy.http.console.asked import Asked
from kafkapy.http.kafka.errors import check
from kafkapy.protocol.api_keys import ApiKey

_DEFAULT: Final = 5
_SOURCES: Final = {
    1: "this topic",
    2: "this broker",
    3: "all brokers",
    4: "the broker's file",
    5: "default",
    6: "the broker's log level",
}


async def settings_of(asked: Asked, topic: str) -> list[dict[str, Any]]:
    found = (await asked.kafka.ask(ApiKey.DESCRIBE_CONFIGS, _body(Resource.TOPIC, topic))).results
    with asked.needs("DESCRIBE_CONFIGS", "TOPIC", topic):
        check(found[0].error_code, topic, found[0].error_message)
    return _rows(found[0])


async def settings_of_broker(asked: Asked, broker: int) -> list[dict[str, Any]]:
    """Only it knows its own file."""
    body = _body(Resource.BROKER, str(broker))
    found = (await asked.kafka.ask_broker(broker, ApiKey.DESCRIBE_CONFIGS, body)).results
    with asked.needs("DESCRIBE_CONFIGS", "CLUSTER", "kafka-cluster"):
        check(found[0].error_code, f"broker {broker}", found[0].error_message)
    return _rows(found[0])


def _body(kind: int, name: str) -> dict[str, Any]:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
    return {
        "resources": [resource],
        "include_synonyms": False,
        "include_documentation": True,
    }


def _rows(found: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "value": "(hidden)" if one.is_sensitive else one.value,
            "source": _SOURCES.get(int(one.config_source), "?"),
            "is_set": int(one.config_source) != _DEFAULT,
            "is_own": int(one.config_source) == 1,
            "says": one.documentation or "",
        }
        for one in sorted(found.configs, key=lambda one: str(one.name))
    ]
