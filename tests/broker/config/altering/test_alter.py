"""What may be altered while running, answer by answer against Apache Kafka.

The broker's own check, then the rules that the controller applies: together they must say
what Kafka says. What turns on existing topics or on ELR is the controller's test.
"""

from typing import Any

import pytest

from kafkapy.broker.config.altering.alter import check_incremental, check_legacy, duplicates
from kafkapy.broker.config.rules import BrokerConfigRules
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.configs import Alteration
from tests.broker.config.kafka import KAFKA, is_refused_here, kafkas_config, minimal

# Decided by the controller's machine (tests/kraft/controller/test_configs.py), or about
# loggers, of which kafkapy has none.
_ELSEWHERE = ("does not exist.", "while ELR is enabled", "type is not LIST")


def anybody() -> None:
    """May alter anything."""


def _incremental() -> list[Any]:
    return [
        row
        for row in KAFKA["incremental_alter"]
        if row[0][0] != 8
        and not (row[1] == "none" and is_refused_here(row[0]))
        and not any(words in (row[2] or "") for words in _ELSEWHERE)
    ]


@pytest.mark.parametrize(("request_", "code", "message"), _incremental())
def test_incremental_changes_are_judged_as_kafka_judges_them(
    request_: Any, code: str, message: str | None
) -> None:
    kind, name, changes = request_
    alterations = [Alteration(key, operation, value) for key, operation, value in changes]
    config = kafkas_config()
    try:
        check_incremental(config, (kind, name), alterations, permit=anybody)
        values = {one.key: one.value for one in alterations if one.value is not None}
        BrokerConfigRules(config).check(kind, name, values, {})
        answer: tuple[str, str | None] = ("none", None)
    except Refused as refused:
        answer = (refused.code.name.lower(), refused.message)
    assert answer[0] == code
    if _is_said_alike(message):
        assert answer[1] == message


def _is_said_alike(message: str | None) -> bool:
    """Kafka's own exceptions leak into some of its sentences; ours do without."""
    return message is None or not message.startswith(
        ("requirement failed: controller", "Invalid value org.apache.kafka")
    )


@pytest.mark.parametrize(
    ("request_", "code", "message"), [row for row in KAFKA["legacy_alter"] if row[0][0] != 2]
)
def test_legacy_changes_are_judged_as_kafka_judges_them(
    request_: Any, code: str, message: str | None
) -> None:
    kind, name, pairs = request_
    try:
        pairs = [(key, value) for key, value in pairs]
        check_legacy(kafkas_config(), (kind, name), pairs, permit=anybody)
        answer: tuple[str, str | None] = ("none", None)
    except Refused as refused:
        answer = (refused.code.name.lower(), refused.message)
    assert answer == (code, message)


def test_a_resource_that_comes_twice_is_refused() -> None:
    verdicts = duplicates([(2, "a"), (2, "b"), (2, "a")])
    assert list(verdicts) == [(2, "a")]
    refused = verdicts[2, "a"]
    assert refused is not None
    assert refused.code is ErrorCode.INVALID_REQUEST


def test_half_and_double_the_threads_are_as_far_as_one_change_goes() -> None:
    config = minimal()
    for value, may in (("3", False), ("4", True), ("16", True), ("17", False)):
        change = [Alteration("num.io.threads", 0, value)]
        if may:
            check_incremental(config, (4, "1"), change, permit=anybody)
        else:
            with pytest.raises(Refused, match="Dynamic thread count"):
                check_incremental(config, (4, "1"), change, permit=anybody)


def test_directories_that_are_cordoned_must_exist() -> None:
    config = minimal(log_dirs="/a,/b")
    check_incremental(config, (4, "1"), [Alteration("cordoned.log.dirs", 0, "/b")], permit=anybody)
    check_incremental(config, (4, "1"), [Alteration("cordoned.log.dirs", 0, "*")], permit=anybody)
    with pytest.raises(Refused, match="Missing entries : /c"):
        check_incremental(
            config, (4, "1"), [Alteration("cordoned.log.dirs", 0, "/b,/c")], permit=anybody
        )


def test_a_loggers_level_cannot_be_set_because_there_is_none() -> None:
    with pytest.raises(Refused, match="Logger root does not exist!"):
        check_incremental(minimal(), (8, "1"), [Alteration("root", 0, "DEBUG")], permit=anybody)
    with pytest.raises(Refused, match=r"Unexpected node id\. Expected 1, but received 2"):
        check_incremental(minimal(), (8, "2"), [Alteration("root", 0, "DEBUG")], permit=anybody)


def nobody() -> None:
    raise Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num.io.threads", "1000"),
        ("cordoned.log.dirs", "/c"),
        ("listener.name.ssl.ssl.keystore.location", "/etc/shadow"),
    ],
)
@pytest.mark.parametrize("name", ["1", ""])
def test_who_may_not_alter_a_broker_is_told_nothing_of_it(name: str, key: str, value: str) -> None:
    def look(after: object, altered: object) -> None:
        raise AssertionError("it is looked at files for somebody who may not")

    config = minimal(log_dirs="/a,/b")
    config.check_files = look
    with pytest.raises(Refused) as incremental:
        check_incremental(config, (4, name), [Alteration(key, 0, value)], permit=nobody)
    with pytest.raises(Refused) as legacy:
        check_legacy(config, (4, name), [(key, value)], permit=nobody)
    for refused in (incremental.value, legacy.value):
        # That a setting is of one broker alone, Kafka tells everybody.
        if "at default cluster level" not in str(refused):
            assert refused.code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_what_is_wrong_with_the_request_alone_is_told_before_as_by_kafka() -> None:
    for change in (Alteration("num.io.threads", 0, "many"), Alteration("log.dirs", 0, "/x")):
        with pytest.raises(Refused) as refused:
            check_incremental(minimal(), (4, "1"), [change], permit=nobody)
        assert refused.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("key", "value", "may"),
    [
        ("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093", True),
        ("listeners", "PLAINTEXT://:9094,CONTROLLER://:9093", False),
        ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,A:SSL", True),
    ],
)
def test_listeners_stay_those_that_the_node_started_with(key: str, value: str, may: bool) -> None:
    """They would be said to be others, and nothing would listen there."""
    config = minimal(
        listeners="PLAINTEXT://:9092,CONTROLLER://:9093",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    )
    change = [Alteration(key, 0, value)]
    if may:
        check_incremental(config, (4, "1"), change, permit=anybody)
    else:
        with pytest.raises(Refused, match="opens its listeners when it starts"):
            check_incremental(config, (4, "1"), change, permit=anybody)
