"""From a topic's settings to its relay's rule."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.broker.config.table.keys.relays import RelayKeys, span_ms
from kafkapy.expressions import InvalidExpression, compile_expression
from kafkapy.relays.progress import MOST_TIMING_TEXT, text_of
from kafkapy.relays.rule import Rule, why_not

RELAY_TO: Final = "kafkapy.relay.to"
WHERE: Final = "kafkapy.relay.where"
RETRY_DELAYS: Final = "kafkapy.relay.retry.delays"
FOLLOWS_SHARE_GROUPS: Final = "kafkapy.retention.follows.share.groups"
HOOK_RELAY: Final = "kafkapy.hook.relay"
RELAY_KEYS: Final = frozenset({*RelayKeys.table, HOOK_RELAY})


def rule_of(overrides: Mapping[str, str], value: Callable[[str], Any]) -> Rule | None:
    """`value(name)`: the setting in force. None: its records stay where they are."""
    if not overrides.get(RELAY_TO):
        return None
    spans = (span_ms(one) for one in value(RETRY_DELAYS))
    return Rule(
        target=value(RELAY_TO),
        delay_ms=value("kafkapy.relay.delay.ms"),
        retry_delays_ms=tuple(one for one in spans if one is not None),
        dead_letters=value("kafkapy.relay.dead.letter.topic"),
        where=value(WHERE),
        hook=value(HOOK_RELAY),
        otherwise=value("kafkapy.relay.otherwise"),
    )


def problem_of(overrides: Mapping[str, str], value: Callable[[str], Any]) -> str | None:
    """Why a topic cannot have these settings."""
    rule = rule_of(overrides, value)
    if rule is None:
        alone = sorted(RELAY_KEYS.intersection(overrides) - {RELAY_TO})
        return f"{alone[0]} means nothing without {RELAY_TO}" if alone else None
    if "compact" in value("cleanup.policy"):
        return "a topic with a relay cannot be compacted: what waits would be taken away"
    if value(FOLLOWS_SHARE_GROUPS):
        return (
            f"a topic with a relay cannot have {FOLLOWS_SHARE_GROUPS}: records would go that the "
            "relay has not moved"
        )
    if rule.where:
        try:
            compile_expression(rule.where)
        except InvalidExpression as invalid:
            return f"{WHERE}: {invalid}"
    if len(text_of(rule.timing)) > MOST_TIMING_TEXT:
        return (
            f"{WHERE} and {RETRY_DELAYS} have more than {MOST_TIMING_TEXT} characters: they are "
            "kept beside how far the relay is"
        )
    return why_not(rule, "")
