"""What a topic's relay may be, and who may name one."""

from typing import Any

import pytest

from kafkapy.broker.config.table.keys.relays import span_ms
from kafkapy.broker.config.topic_config import check_topic, topic_value
from kafkapy.broker.relays.permission import require_for_relay
from kafkapy.broker.relays.settings import rule_of
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.relays.rule import Rule
from tests.broker.config.kafka import minimal

TO, DELAY = "kafkapy.relay.to", "kafkapy.relay.delay.ms"
WHERE, OTHERWISE = "kafkapy.relay.where", "kafkapy.relay.otherwise"
RETRY, DEAD = "kafkapy.relay.retry.delays", "kafkapy.relay.dead.letter.topic"
BROKER = minimal()


def rule(settings: dict[str, str]) -> Rule | None:
    return rule_of(settings, lambda name: topic_value(name, settings, BROKER))


def test_settings_make_a_rule_and_none_make_none() -> None:
    assert rule({"retention.ms": "5"}) is None
    assert rule({TO: ""}) is None
    assert rule({TO: "out"}) == Rule("out")
    assert rule({TO: "out", WHERE: "key = 'a'"}) == Rule("out", where="key = 'a'")
    split = {TO: "out", WHERE: "key = 'a'", OTHERWISE: "rest"}
    assert rule(split) == Rule("out", where="key = 'a'", otherwise="rest")
    assert rule({TO: "out", DELAY: "70"}) == Rule("out", delay_ms=70)
    retries = {TO: "in", RETRY: "500ms,5s,1m,2h,1d", DEAD: "dead"}
    delays = (500, 5_000, 60_000, 7_200_000, 86_400_000)
    assert rule(retries) == Rule("in", retry_delays_ms=delays, dead_letters="dead")


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-5s", "1.5s", "5w", "5sm", "9999999999s"])
def test_a_span_that_is_none(text: str) -> None:
    assert span_ms(text) is None


@pytest.mark.parametrize(
    "settings",
    [
        {DELAY: "5"},
        {TO: "in", RETRY: "5s"},
        {TO: "in", DEAD: "dead"},
        {TO: "in", RETRY: "5s", DEAD: "in"},
        {TO: "in", RETRY: "soon", DEAD: "dead"},
        {TO: "in", DELAY: "-1"},
        {TO: "in", WHERE: "key ="},
        {TO: "in", OTHERWISE: "rest"},
        {TO: "in", WHERE: "key = 'a'", OTHERWISE: "rest", RETRY: "5s"},
        {TO: "out", "cleanup.policy": "compact"},
        {TO: "out", "cleanup.policy": "compact,delete"},
        {TO: "out", "kafkapy.retention.follows.share.groups": "true"},
        {TO: "out", WHERE: f"key = '{'a' * 900}'"},
        {TO: "in", RETRY: ",".join(["1000s"] * 200), DEAD: "dead"},
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_set(settings: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        check_topic(settings, BROKER, {})
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    check_topic({TO: "in", RETRY: "5s", DEAD: "dead"}, BROKER, {})


class Asked:
    """An authorizer that allows what it was given."""

    def __init__(self, *allowed: tuple[str, str]) -> None:
        self._allowed = allowed

    @property
    def authorizer(self) -> Any:
        return self

    def allows(self, peer: Any, operation: Any, resource_type: int, name: str) -> bool:
        return (operation.name, name) in self._allowed


class _Call:
    peer = None


def test_who_names_a_target_may_read_here_and_write_there() -> None:
    call: Any = _Call()
    settings = [(TO, "in"), (RETRY, "5s"), (DEAD, "dead"), (OTHERWISE, "rest")]
    settings.append(("retention.ms", "5"))
    everything = [("READ", "src"), ("WRITE", "in"), ("WRITE", "dead"), ("WRITE", "rest")]
    require_for_relay(Asked(*everything), call, "src", settings)
    for missing in everything:
        allowed = [one for one in everything if one != missing]
        with pytest.raises(Refused) as refused:
            require_for_relay(Asked(*allowed), call, "src", settings)
        assert refused.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    require_for_relay(Asked(), call, "src", [(TO, ""), (TO, None), ("retention.ms", "5")])
