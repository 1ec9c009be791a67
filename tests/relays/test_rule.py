"""What a record's headers and its topic's settings make of it."""

import pytest

from kafkapy.relays.rule import AT_ONCE, LATEST_MS, Rule, due_ms, number, sent, why_not
from tests.relays.records import record

PLAIN = Rule("out")
LATER = Rule("out", delay_ms=1000)
RETRY = Rule("in", retry_delays_ms=(5_000, 60_000), dead_letters="dead")


def test_a_record_that_says_nothing_does_as_its_topic_does() -> None:
    assert due_ms(PLAIN, record(0, timestamp=50)) == AT_ONCE
    assert due_ms(LATER, record(0, timestamp=50)) == 1050


def test_a_header_counts_more_than_the_topic_and_a_moment_more_than_a_delay() -> None:
    assert due_ms(LATER, record(0, timestamp=50, kafkapy_delay_ms=b"7")) == 57
    assert due_ms(LATER, record(0, timestamp=50, kafkapy_delay_ms=b"0")) == AT_ONCE
    both = record(0, timestamp=50, kafkapy_delay_ms=b"7", kafkapy_deliver_at=b"99")
    assert due_ms(LATER, both) == 99


@pytest.mark.parametrize("nonsense", [b"", b"soon", b"-5", b"1e3", b"9" * 20, b"\xff"])
def test_a_header_that_is_no_number_counts_as_not_there(nonsense: bytes) -> None:
    assert due_ms(LATER, record(0, timestamp=50, kafkapy_deliver_at=nonsense)) == 1050


def test_whatever_number_it_is_there_is_a_time_for_it() -> None:
    assert due_ms(PLAIN, record(0, timestamp=50, kafkapy_deliver_at=b"9" * 19)) == LATEST_MS


def test_what_has_waited_has_the_time_at_which_it_was_due_and_not_the_wish() -> None:
    asked = record(3, b"k", timestamp=50, kafkapy_delay_ms=b"7", colour=b"red")
    topic, out, partition = sent(LATER, asked, 57)
    assert (topic, partition) == ("out", -1)
    assert (out.key, out.value, out.timestamp, out.headers) == (
        b"k",
        b"v",
        57,
        (("colour", b"red"),),
    )


def test_each_time_it_comes_back_it_waits_longer_and_is_counted() -> None:
    first = record(3, b"k", timestamp=100, kafkapy_error=b"no")
    assert due_ms(RETRY, first) == 5_100
    topic, out, _ = sent(RETRY, first, 5_100)
    assert topic == "in"
    assert out.headers == (("kafkapy.error", b"no"), ("kafkapy.attempts", b"1"))
    second = record(4, b"k", timestamp=6_000, kafkapy_attempts=b"1")
    assert due_ms(RETRY, second) == 66_000
    assert number(sent(RETRY, second, 66_000).record.headers, "kafkapy.attempts") == 2


def test_after_the_last_time_it_is_a_dead_letter_at_once() -> None:
    third = record(5, b"k", timestamp=70_000, kafkapy_attempts=b"2", kafkapy_error=b"no")
    assert due_ms(RETRY, third) == AT_ONCE
    topic, out, _ = sent(RETRY, third, AT_ONCE)
    assert topic == "dead"
    assert out.headers == third.headers
    assert out.timestamp == 70_000


def test_a_retry_goes_back_to_the_partition_that_it_came_from() -> None:
    def origin(topic: bytes) -> int:
        failed = record(0, kafkapy_origin_topic=topic, kafkapy_origin_partition=b"7")
        return sent(RETRY, failed, 5_000).partition

    assert origin(b"in") == 7
    assert origin(b"elsewhere") == -1, "the number means another topic's"


@pytest.mark.parametrize(
    ("rule", "topic"),
    [
        (PLAIN, "out"),
        (RETRY, "dead"),
        (RETRY._replace(dead_letters=""), "t"),
        (RETRY._replace(dead_letters="in"), "t"),
        (PLAIN._replace(dead_letters="dead"), "t"),
    ],
)
def test_rules_that_make_no_sense_say_why(rule: Rule, topic: str) -> None:
    assert why_not(rule, topic)
    assert why_not(LATER, "t") is None
    assert why_not(RETRY, "t") is None


def test_dead_letters_come_back_too_often_at_once_however_long_retries_wait() -> None:
    """So a topic of dead letters that relays back makes a circle in which nothing waits."""
    assert RETRY.targets_at_once == ("dead",)
    assert PLAIN.targets_at_once == ("out",)
    assert LATER.targets_at_once == ()


def test_what_says_when_a_record_is_due_is_told_from_where_it_goes() -> None:
    assert RETRY.timing == RETRY._replace(target="x", dead_letters="y", otherwise="z").timing
    assert PLAIN.under(RETRY.timing) == RETRY._replace(target="out", dead_letters="")
    assert LATER.under(LATER.timing) == LATER
