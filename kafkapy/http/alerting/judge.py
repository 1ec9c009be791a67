"""Which rules hold, of what, and since when. Nothing here waits or looks at a clock.

not so --it is so--> pending --for as long as the rule says--> firing --not so--> resolved
           ^------------ not so -----/
"""

from collections import deque
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from kafkapy.http.alerting.rules import Rule
from kafkapy.http.watching.lag import Lag

PENDING, FIRING, RESOLVED = "pending", "firing", "resolved"
_HOUR_MS: Final = 3_600_000
_DAY_SECONDS: Final = 86_400
# A trend is known from this on, and is of the last hour.
_TREND_MS: Final = 300_000


class Facts(NamedTuple):
    """What is so at `now_ms`; `wall_ms` is what clocks say."""

    now_ms: int
    wall_ms: int
    lags: Sequence[Lag] = ()
    members: Mapping[str, int] = {}
    offline: Sequence[str] = ()
    under_min_isr: Sequence[str] = ()
    usable_bytes: Mapping[str, int] = {}
    certificates: Mapping[str, float] = {}  # listener -> when it ends, in seconds since 1970
    transactions: Mapping[str, float] = {}  # open -> for how many seconds


class Alert(NamedTuple):
    rule: Rule
    subject: str
    told: str
    state: str
    since_wall_ms: int
    ended_wall_ms: int | None = None


class Judge:
    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._held: dict[tuple[str, str], tuple[int, Alert]] = {}
        self._trends: dict[str, deque[tuple[int, int]]] = {}

    @property
    def alerts(self) -> list[Alert]:
        """Pending and firing."""
        return [alert for _, alert in self._held.values()]

    def decide(self, facts: Facts) -> list[Alert]:
        """What has begun to fire, and what is over."""
        self._remember(facts)
        changes: list[Alert] = []
        held: dict[tuple[str, str], tuple[int, Alert]] = {}
        for rule in self.rules:
            for subject, told in self._holding(rule, facts).items():
                key = rule.name, subject
                since_ms, alert = self._held.get(
                    key, (facts.now_ms, Alert(rule, subject, told, PENDING, facts.wall_ms))
                )
                alert = alert._replace(told=told)
                if alert.state == PENDING and facts.now_ms - since_ms >= rule.for_seconds * 1000:
                    alert = alert._replace(state=FIRING)
                    changes.append(alert)
                held[key] = since_ms, alert
        for key, (_, alert) in self._held.items():
            if key not in held and alert.state == FIRING:
                changes.append(alert._replace(state=RESOLVED, ended_wall_ms=facts.wall_ms))
        self._held = held
        return changes

    def _holding(self, rule: Rule, facts: Facts) -> dict[str, str]:
        """Subject -> what is to be told of it."""
        found = _CONDITIONS[rule.kind](self, rule, facts)
        return {name: told for name, told in found.items() if fnmatchcase(name, rule.match)}

    # --- one for each kind ---

    def _lag_grows(self, rule: Rule, facts: Facts) -> dict[str, str]:
        rates: dict[str, float] = {}
        lags: dict[str, int] = {}
        for one in facts.lags:
            rates[one.group] = rates.get(one.group, 0.0) + one.rate
            lags[one.group] = lags.get(one.group, 0) + one.records
        return {
            group: f"group {group} is {lags[group]} records behind, {rate:.1f} more each second"
            for group, rate in rates.items()
            if rate > rule.above
        }

    def _lag_seconds(self, rule: Rule, facts: Facts) -> dict[str, str]:
        seconds: dict[str, float] = {}
        for one in facts.lags:
            seconds[one.group] = max(seconds.get(one.group, 0.0), one.seconds or 0.0)
        return {
            group: f"group {group} is {behind:.0f} s behind"
            for group, behind in seconds.items()
            if behind > rule.above
        }

    def _no_leader(self, rule: Rule, facts: Facts) -> dict[str, str]:
        return _several(rule, "partitions", facts.offline, "have no leader")

    def _under_min_isr(self, rule: Rule, facts: Facts) -> dict[str, str]:
        told = "have too few replicas in sync for acks=all"
        return _several(rule, "partitions", facts.under_min_isr, told)

    def _disk_full(self, rule: Rule, facts: Facts) -> dict[str, str]:
        found = {}
        for directory, usable in facts.usable_bytes.items():
            hours = self._hours_left(directory, usable)
            if hours is not None and hours < rule.above:
                found[directory] = f"{directory} is full in {hours:.1f} hours, as it fills now"
        return found

    def _certificate_expires(self, rule: Rule, facts: Facts) -> dict[str, str]:
        found = {}
        for listener, ends in facts.certificates.items():
            days = (ends - facts.wall_ms / 1000) / _DAY_SECONDS
            if days < rule.above:
                found[listener] = f"the certificate of {listener} ends in {days:.1f} days"
        return found

    def _transaction_stuck(self, rule: Rule, facts: Facts) -> dict[str, str]:
        return {
            name: f"transaction {name} has been open for {seconds:.0f} s"
            for name, seconds in facts.transactions.items()
            if seconds > rule.above
        }

    def _poison_message(self, rule: Rule, facts: Facts) -> dict[str, str]:
        found = {}
        for one in facts.lags:
            stood = stuck_seconds(one, facts.members, facts.now_ms)
            if stood > rule.above:
                place = f"{one.topic}-{one.partition} for {stood:.0f} s"
                told = f"has stood at offset {one.committed} of {place}"
                if not one.has_committed:
                    told = f"has read nothing, and committed nothing, of {place}"
                found[one.group] = f"group {one.group} {told}"
        return found

    # --- trends ---

    def _remember(self, facts: Facts) -> None:
        for directory, usable in facts.usable_bytes.items():
            trend = self._trends.setdefault(directory, deque())
            trend.append((facts.now_ms, usable))
            while facts.now_ms - trend[0][0] > _HOUR_MS:
                trend.popleft()

    def _hours_left(self, directory: str, usable: int) -> float | None:
        """None: it does not fill, or that is not known yet."""
        trend = self._trends[directory]
        if trend[-1][0] - trend[0][0] < _TREND_MS:
            return None
        slope = _slope(trend)
        return None if slope >= 0 else usable / -slope / _HOUR_MS


_CONDITIONS: Final = {
    "lag_grows": Judge._lag_grows,
    "lag_seconds": Judge._lag_seconds,
    "no_leader": Judge._no_leader,
    "under_min_isr": Judge._under_min_isr,
    "disk_full": Judge._disk_full,
    "certificate_expires": Judge._certificate_expires,
    "transaction_stuck": Judge._transaction_stuck,
    "poison_message": Judge._poison_message,
}


def stuck_seconds(one: Lag, members: Mapping[str, int], now_ms: int) -> float:
    """For how long a partition has not been read though there is somebody to read it."""
    if not one.records or not members.get(one.group):
        return 0.0
    return max(0, now_ms - one.stands_since_ms) / 1000


def _several(rule: Rule, what: str, names: Sequence[str], told: str) -> dict[str, str]:
    """One alert for all of them: what makes one usually makes hundreds."""
    if len(names) <= rule.above:
        return {}
    shown = ", ".join(names[:5]) + (" ..." if len(names) > 5 else "")
    return {what: f"{len(names)} {what} {told}: {shown}"}


def _slope(points: Sequence[tuple[int, int]]) -> float:
    """Of the line that is nearest to them all: by least squares."""
    count = len(points)
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
