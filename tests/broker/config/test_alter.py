"""What may be altered while running, answer by answer against Apache Kafka.

The broker's own check, then the rules that the controller applies: together they must say
what Kafka says. What turns on existing topics or on ELR is the controller's test.
"""

from typing import Any

import pytest

from kafkapy.broker.config.alter import check_incremental, check_legacy, duplicates
from kafkapy.broker.config.rules import BrokerConfigRules
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.configs import Alteration
from tests.broker.config.kafka import KAFKA, is_refused_here, kafkas_config, minimal

# Decided by the controller's machine (tests/kraft/controller/test_configs.py), or about
# loggers, of which kafkapy has none.
_ELSEWHERE = ("does not exist.", "while ELR is enabled", "type is not LIST")


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
        check_incremental(config, (kind, name), alterations)
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
        check_legacy(kafkas_config(), (kind, name), [(key, value) for key, value in pairs])
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
            check_incremental(config, (4, "1"), change)
        else:
            with pytest.raises(Refused, match="Dynamic thread count"):
                check_incremental(config, (4, "1"), change)


def test_directories_that_are_cordoned_must_exist() -> None:
    config = minimal(log_dirs="/a,/b")
    check_incremental(config, (4, "1"), [Alteration("cordoned.log.dirs", 0, "/b")])
    check_incremental(config, (4, "1"), [Alteration("cordoned.log.dirs", 0, "*")])
    with pytest.raises(Refused, match="Missing entries : /c"):
        check_incremental(config, (4, "1"), [Alteration("cordoned.log.dirs", 0, "/b,/c")])


def test_a_loggers_level_cannot_be_set_because_there_is_none() -> None:
    with pytest.raises(Refused, match="Logger root does not exist!"):
        check_incremental(minimal(), (8, "1"), [Alteration("root", 0, "DEBUG")])
    with pytest.raises(Refused, match=r"Unexpected node id\. Expected 1, but received 2"):
        check_incremental(minimal(), (8, "2"), [Alteration("root", 0, "DEBUG")])
