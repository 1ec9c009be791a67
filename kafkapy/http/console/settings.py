"""Settings of a topic, a broker or a group as Kafka describes them: values, what they mean, who set
them; and how they are changed.

    this broker  >  all brokers  >  the broker's file  >  default     the first that says it counts
"""

from contextlib import suppress
from typing import Any, Final, NamedTuple

from kafkapy.broker.config.resolve import Source
from kafkapy.broker.config.resources import Resource
from kafkapy.broker.config.table.key import ConfigType
from kafkapy.http.console.asked import Asked, Lacking
from kafkapy.http.console.rendering import size, span
from kafkapy.http.console.seeing import until_seen
from kafkapy.http.kafka.errors import check
from kafkapy.kraft.acls import CLUSTER_NAME
from kafkapy.protocol.api_keys import ApiKey

_SET, _DELETE = 0, 1
_SOURCES: Final = {
    Source.TOPIC: "this topic",
    Source.BROKER: "this broker",
    Source.CLUSTER: "all brokers",
    Source.STATIC: "the broker’s file",  # noqa: RUF001 - as pages write it
    Source.DEFAULT: "default",
    Source.LOGGER: "the broker’s log level",  # noqa: RUF001 - the same
    Source.GROUP: "this group",
}
_OWN: Final = {Resource.TOPIC: Source.TOPIC, Resource.GROUP: Source.GROUP}
HIDDEN: Final = "(hidden)"


class Place(NamedTuple):
    """What has settings. A broker's are asked of it: only it knows its own file; `name` is then
    its id, or empty for what is set for all brokers."""

    kind: Resource
    name: str
    broker: int | None = None

    @property
    def right(self) -> tuple[str, str]:
        """On what one needs DESCRIBE_CONFIGS to see them, ALTER_CONFIGS to change them."""
        if self.kind is Resource.BROKER:
            return "CLUSTER", CLUSTER_NAME
        return self.kind.name, self.name

    @property
    def own(self) -> Source:
        """As what Kafka names what is set here."""
        if self.kind is Resource.BROKER:
            return Source.BROKER if self.name else Source.CLUSTER
        return _OWN[self.kind]


class Layer(NamedTuple):
    """`name` is another one where a value is taken from a setting like it."""

    source: Source
    name: str
    value: str | None

    @property
    def said(self) -> str:
        return _SOURCES.get(self.source, "?")

    @property
    def hint(self) -> str:
        return hint(self.name, self.value)


class Setting(NamedTuple):
    """`layers`: who says something, the first of them counts."""

    name: str
    value: str | None
    source: Source
    is_flag: bool
    is_sensitive: bool
    is_read_only: bool
    says: str
    layers: tuple[Layer, ...]

    @property
    def set_by(self) -> str:
        return _SOURCES.get(self.source, "?")

    @property
    def is_set(self) -> bool:
        return self.source is not Source.DEFAULT

    @property
    def hint(self) -> str:
        return hint(self.name, self.value)

    def of(self, source: Source) -> Layer | None:
        return next((one for one in self.layers if one.source is source), None)


async def settings_of(asked: Asked, place: Place, key: str | None = None) -> list[Setting]:
    """By name; of one `key` at most that."""
    resource = {
        "resource_type": place.kind,
        "resource_name": place.name,
        "configuration_keys": None if key is None else [key],
    }
    body = {
        "resources": [resource],
        "include_synonyms": True,
        "include_documentation": True,
    }
    if place.broker is None:
        answer = await asked.kafka.ask(ApiKey.DESCRIBE_CONFIGS, body)
    else:
        with asked.needs("DESCRIBE_CONFIGS", *place.right):
            answer = await asked.kafka.ask_broker(place.broker, ApiKey.DESCRIBE_CONFIGS, body)
    found = answer.results[0]
    with asked.needs("DESCRIBE_CONFIGS", *place.right):
        check(found.error_code, place.name, found.error_message)
    return [_setting(one) for one in sorted(found.configs, key=lambda one: str(one.name))]


async def setting_of(asked: Asked, place: Place, key: str) -> Setting | None:
    return next((one for one in await settings_of(asked, place, key) if one.name == key), None)


async def change(asked: Asked, place: Place, key: str, value: str | None) -> None:
    """None: what is set here is taken away. Returns when it is seen."""
    alteration = {
        "name": key,
        "config_operation": _DELETE if value is None else _SET,
        "value": value,
    }
    resource = {
        "resource_type": place.kind,
        "resource_name": place.name,
        "configs": [alteration],
    }
    body = {"resources": [resource], "validate_only": False}
    api = ApiKey.INCREMENTAL_ALTER_CONFIGS
    with asked.needs("ALTER_CONFIGS", *place.right):
        if place.broker is None:
            answer = await asked.kafka.ask(api, body)
        else:
            answer = await asked.kafka.ask_broker(place.broker, api, body)
        row = answer.responses[0]
        check(row.error_code, place.name or "all brokers", row.error_message)

    async def is_there() -> bool:
        found = await setting_of(asked, _seen_at(place), key)
        layer = None if found is None else found.of(place.own)
        if found is None or layer is None:
            return value is None
        return value is not None and (found.is_sensitive or _is_same(layer.value, value))

    # Who may change settings need not be let see them: then the next page says so.
    with suppress(Lacking):
        await until_seen(is_there)


def _seen_at(place: Place) -> Place:
    """What is set for all brokers is looked for at the one that was asked."""
    return place if place.broker is None else place._replace(name=str(place.broker))


def _is_same(told: str | None, value: str) -> bool:
    """Numbers may be told as another text than they were given as."""
    if told == value:
        return True
    try:
        return float(told or "") == float(value)
    except ValueError:
        return (told or "").lower().replace(" ", "") == value.lower().replace(" ", "")


def _setting(one: Any) -> Setting:
    return Setting(
        name=one.name,
        value=HIDDEN if one.is_sensitive else one.value,
        source=_source(one.config_source),
        is_flag=int(one.config_type) == ConfigType.BOOLEAN,
        is_sensitive=one.is_sensitive,
        is_read_only=one.read_only,
        says=one.documentation or "",
        layers=tuple(
            Layer(_source(each.source), each.name, HIDDEN if one.is_sensitive else each.value)
            for each in one.synonyms
        ),
    )


def _source(number: int) -> Source:
    """A newer broker may know more."""
    try:
        return Source(int(number))
    except ValueError:
        return Source.UNKNOWN


def hint(name: str, value: str | None) -> str:
    """What a long number is, for who does not count digits; empty for all else."""
    if value is None or not value.isdecimal() or int(value) < 1000 or len(value) > 18:
        return ""
    if name.endswith(".ms"):
        return span(int(value))
    if name.endswith((".bytes", ".byte.rate", ".bytes.per.second", ".buffer.size")):
        return size(int(value))
    return ""
