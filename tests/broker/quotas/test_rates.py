"""Averages and buckets, as Apache Kafka's metrics compute them."""

from kafkapy.broker.quotas.rates import Bucket, Rate
from kafkapy.core.time import Instant

T0 = Instant(1_000_000)


def at(seconds: float) -> Instant:
    return Instant(T0 + round(seconds * 1000))


def test_a_burst_is_averaged_over_all_windows_but_the_running_one() -> None:
    rate = Rate(11, 1000)
    rate.record(5000, T0)
    assert rate.measure(T0) == (500.0, 10_000)
    measured, elapsed = rate.measure(at(0.5))
    assert (measured, elapsed) == (5000 / 10.5, 10_500)


def test_the_wait_is_what_brings_the_average_down() -> None:
    rate = Rate(11, 1000)
    rate.record(20_000, T0)
    assert rate.wait_ms(2000, T0) == 0
    wait_ms = rate.wait_ms(1000, T0)
    assert wait_ms == 10_000
    assert rate.wait_ms(1000, at(11)) == 0


def test_windows_are_forgotten_when_nothing_was_used_in_them_for_long() -> None:
    rate = Rate(3, 1000)
    for second in range(4):
        rate.record(100, at(second))
    assert rate.measure(at(3)) == (150, 2000)
    assert rate.is_idle(at(6)) is True
    assert rate.measure(at(6)) == (0, 2000)


def test_what_is_given_back_was_never_used() -> None:
    rate = Rate(11, 1000)
    rate.record(5000, T0)
    rate.record(-5000, T0)
    assert rate.wait_ms(1, T0) == 0


def test_a_bucket_holds_what_all_windows_may_use() -> None:
    bucket = Bucket(11, 1000)
    assert bucket.left(10, T0) == 110
    bucket.use(100, 10, T0)
    assert bucket.wait_ms(10, T0) == 0
    bucket.use(100, 10, T0)
    assert bucket.wait_ms(10, T0) == 9000
    assert bucket.left(10, at(4)) == -50
    assert bucket.wait_ms(10, at(9)) == 0
    assert bucket.left(10, at(1000)) == 110
    assert bucket.is_full(10, at(1000))
