"""Each rule: made to hold, and to be over, in time that the test says."""

from collections.abc import Sequence

import pytest

from kafkapy.http.alerting.judge import FIRING, PENDING, RESOLVED, Alert, Facts, Judge
from kafkapy.http.alerting.rules import KINDS, Rule, default_rules
from kafkapy.http.watching.lag import Lag

DAY = 86_400
HOUR_MS = 3_600_000


def lag(
    records: int = 10, seconds: float = 1.0, rate: float = 0.0, since_ms: int = 0, group: str = "g"
) -> Lag:
    return Lag(group, "t", 0, 100, 100 + records, seconds, rate, None, since_ms)


def judged(rule: Rule, *facts: Facts) -> list[list[tuple[str, str]]]:
    """For each look, what changed: (state, subject)."""
    judge = Judge([rule])
    return [[(one.state, one.subject) for one in judge.decide(some)] for some in facts]


def at(now_ms: int, **facts: object) -> Facts:
    return Facts(now_ms, 1_000_000 + now_ms, **facts)  # type: ignore[arg-type]


def test_a_group_that_is_too_many_seconds_behind_and_then_is_not() -> None:
    rule = Rule("behind", "lag_seconds", above=60, for_seconds=30)
    bad, good = [lag(seconds=61)], [lag(seconds=59)]
    assert judged(
        rule,
        at(0, lags=bad),
        at(29_999, lags=bad),
        at(30_000, lags=bad),
        at(60_000, lags=bad),
        at(61_000, lags=good),
    ) == [[], [], [(FIRING, "g")], [], [(RESOLVED, "g")]]


def test_what_is_over_before_its_time_was_nothing() -> None:
    rule = Rule("behind", "lag_seconds", above=60, for_seconds=30)
    bad = [lag(seconds=61)]
    assert judged(rule, at(0, lags=bad), at(20_000), at(40_000, lags=bad)) == [[], [], []]


def test_lag_that_grows_all_the_while() -> None:
    """Of the group as a whole: one partition may drain while the others fill."""
    rule = Rule("grows", "lag_grows", above=5, for_seconds=60)
    growing = [lag(rate=8), lag(rate=-2)]
    draining = [lag(rate=8), lag(rate=-4)]
    changes = judged(rule, at(0, lags=growing), at(60_000, lags=growing), at(61_000, lags=draining))
    assert changes == [[], [(FIRING, "g")], [(RESOLVED, "g")]]


@pytest.mark.parametrize(("kind", "field"), [
    ("no_leader", "offline"), ("under_min_isr", "under_min_isr"),
])  # fmt: skip
def test_partitions_that_nobody_can_write_to(kind: str, field: str) -> None:
    rule = Rule(kind, kind, above=0, for_seconds=30)
    many = [f"t-{index}" for index in range(7)]
    judge = Judge([rule])
    judge.decide(at(0, **{field: many}))
    (fired,) = judge.decide(at(30_000, **{field: many}))
    assert (fired.state, fired.subject) == (FIRING, "partitions")
    assert fired.told.startswith("7 partitions have")
    (over,) = judge.decide(at(31_000))
    assert (over.state, over.ended_wall_ms) == (RESOLVED, 1_031_000)


def test_a_disk_that_will_be_full() -> None:
    """It loses a tenth of what it has every hour; then somebody makes room."""
    rule = Rule("full", "disk_full", above=12, for_seconds=0)
    judge = Judge([rule])
    looks = [at(n * 60_000, usable_bytes={"/d": 10**12 - n * 10**12 // 600}) for n in range(10)]
    changes = [judge.decide(one) for one in looks]
    assert [bool(one) for one in changes] == [False] * 5 + [True] + [False] * 4
    assert changes[5][0].subject == "/d"
    (over,) = judge.decide(at(HOUR_MS, usable_bytes={"/d": 2 * 10**12}))
    assert over.state == RESOLVED


def test_a_disk_that_fills_slowly_or_not_at_all_is_no_alert() -> None:
    rule = Rule("full", "disk_full", above=12, for_seconds=0)
    for lost in (0, 10**9, -(10**9)):
        looks = [at(n * 60_000, usable_bytes={"/d": 10**12 - n * lost}) for n in range(20)]
        assert not any(judged(rule, *looks))


def test_a_certificate_that_ends() -> None:
    rule = Rule("certificate", "certificate_expires", above=14, for_seconds=0)
    ends = {"HTTP": 1000.0 + 13 * DAY, "SSL": 1000.0 + 15 * DAY}
    renewed = {"HTTP": 1000.0 + 90 * DAY, "SSL": 1000.0 + 15 * DAY}
    changes = judged(rule, at(0, certificates=ends), at(1, certificates=renewed))
    assert changes == [[(FIRING, "HTTP")], [(RESOLVED, "HTTP")]]


def test_a_transaction_that_nobody_ends() -> None:
    rule = Rule("stuck", "transaction_stuck", above=900, for_seconds=0)
    changes = judged(rule, at(0, transactions={"tx": 901.0, "young": 3.0}), at(1))
    assert changes == [[(FIRING, "tx")], [(RESOLVED, "tx")]]


def test_a_message_that_a_group_does_not_get_past() -> None:
    """It stands at one offset since 0, with a member; then it goes on."""
    rule = Rule("poison", "poison_message", above=300, for_seconds=0)
    stands, members = [lag(since_ms=0)], {"g": 1}
    changes = judged(
        rule,
        at(300_000, lags=stands, members=members),
        at(301_000, lags=stands, members=members),
        at(302_000, lags=[lag(since_ms=302_000)], members=members),
    )
    assert changes == [[], [(FIRING, "g")], [(RESOLVED, "g")]]


@pytest.mark.parametrize(
    ("lags", "members"), [([lag(records=0)], {"g": 1}), ([lag()], {}), ([lag()], {"g": 0})]
)
def test_who_has_nothing_to_read_or_nobody_to_read_it_is_not_poisoned(
    lags: Sequence[Lag], members: dict[str, int]
) -> None:
    rule = Rule("poison", "poison_message", above=300, for_seconds=0)
    assert judged(rule, at(10**9, lags=lags, members=members)) == [[]]


def test_a_rule_is_about_those_that_it_names() -> None:
    rule = Rule("orders", "lag_seconds", above=60, for_seconds=0, match="orders-*")
    lags = [lag(seconds=99, group="orders-eu"), lag(seconds=99, group="billing")]
    assert judged(rule, at(0, lags=lags)) == [[(FIRING, "orders-eu")]]


def test_what_holds_is_pending_until_it_fires() -> None:
    judge = Judge([Rule("behind", "lag_seconds", above=60, for_seconds=30)])
    states: list[Alert] = []
    for now_ms in (0, 30_000):
        judge.decide(at(now_ms, lags=[lag(seconds=61)]))
        states += judge.alerts
    assert [one.state for one in states] == [PENDING, FIRING]
    assert {one.since_wall_ms for one in states} == {1_000_000}


def test_every_node_has_a_rule_of_each_kind() -> None:
    assert {one.kind for one in default_rules()} == set(KINDS)
