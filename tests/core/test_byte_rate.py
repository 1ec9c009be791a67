"""The rate of what goes by, as Kafka's replication quotas measure it."""

from kafkapy.core.byte_rate import ByteRate
from kafkapy.core.time import Instant


def at(ms: int) -> Instant:
    return Instant(1_000_000 + ms)


def test_without_a_limit_nobody_waits() -> None:
    rate = ByteRate()
    rate.record(1 << 40, at(0))
    assert rate.wait_ms(at(0)) == 0


def test_what_is_too_much_waits_until_the_rate_is_kept() -> None:
    rate = ByteRate(1000)
    rate.record(1000, at(0))
    assert not rate.is_exceeded(at(0))
    rate.record(2000, at(0))
    assert rate.wait_ms(at(0)) == 3000
    assert rate.wait_ms(at(1000)) == 2000
    assert rate.wait_ms(at(2999)) == 1
    assert rate.wait_ms(at(3000)) == 0


def test_a_quiet_time_before_does_not_count() -> None:
    rate = ByteRate(1000)
    rate.record(1, at(0))
    rate.record(5000, at(20_000))
    assert rate.wait_ms(at(20_000)) == 5000


def test_eleven_seconds_later_a_burst_is_forgotten() -> None:
    rate = ByteRate(10)
    rate.record(1_000_000, at(0))
    assert rate.wait_ms(at(0)) == 11_000
    assert rate.wait_ms(at(10_999)) == 1
    assert rate.wait_ms(at(11_000)) == 0


def test_a_limit_that_changes_holds_at_once() -> None:
    rate = ByteRate(10)
    rate.record(1000, at(0))
    assert rate.is_exceeded(at(500))
    rate.limit = 1000
    assert not rate.is_exceeded(at(500))


def test_a_limit_of_nothing_lets_one_through_at_a_time() -> None:
    rate = ByteRate(0)
    assert not rate.is_exceeded(at(0))
    rate.record(1, at(0))
    assert rate.is_exceeded(at(5_000))
