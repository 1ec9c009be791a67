"""What becomes of topics' records: relays that move them elsewhere, and views that show part of one
(docs/RELAYS.md, docs/VIEWS.md). Of settings, those of topics whose settings one may see."""

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from kafkapy.broker.config.topic_config import topic_value
from kafkapy.broker.relays.settings import rule_of
from kafkapy.broker.relays.transaction import GROUP_PREFIX
from kafkapy.http.console.asked import Asked
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.image.image import TOPIC_RESOURCE
from kafkapy.kraft.views import VIEW_HOOK, VIEW_OF, VIEW_WHERE
from kafkapy.relays.rule import Rule


class Relay(NamedTuple):
    source: str
    rule: Rule

    @property
    def group(self) -> str:
        """Its place is kept as this group's offsets (docs/RELAYS.md)."""
        return GROUP_PREFIX + self.source

    @property
    def delays(self) -> tuple[int, ...]:
        """Of a retry topic, one after the other, or a single one."""
        return self.rule.retry_delays_ms or ((self.rule.delay_ms,) if self.rule.delay_ms else ())


class View(NamedTuple):
    name: str
    source: str
    where: str
    hook: str


async def flows(
    asked: Asked, topics: Iterable[str] | None = None
) -> tuple[list[Relay], list[View]]:
    """Of all topics, or of these as the one end or the other."""
    kafka = asked.kafka
    wanted = None if topics is None else set(topics)
    relays: list[Relay] = []
    views: list[View] = []
    for (kind, name), values in list(kafka.image.all_configs.items()):
        if kind != TOPIC_RESOURCE:
            continue
        rule = rule_of(values, partial(topic_value, overrides=values, broker=asked.site.config))
        if rule is not None:
            if wanted is None or wanted & {name, *rule.targets}:
                relays.append(Relay(name, rule))
            continue
        source = values.get(VIEW_OF)
        if source and (wanted is None or wanted & {name, source}):
            where, hook = values.get(VIEW_WHERE, ""), values.get(VIEW_HOOK, "")
            views.append(View(name, source, where, hook))
    names = sorted({one.source for one in relays} | {one.name for one in views})
    seen = await kafka.allowed(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, names)
    return (
        sorted(one for one in relays if one.source in seen),
        sorted(one for one in views if one.name in seen),
    )
