"""What is to be told: rules, from a TOML file (http.alerts.file) or those that every node has.

    [[rule]]
    name = "orders behind"
    kind = "lag_seconds"        what is looked at: KINDS
    above = 60                  its bound, in the kind's unit
    for = 120                   seconds for which it has to be so
    match = "orders-*"          groups, partitions, directories ...: those that it is about
    severity = "critical"

Each kind has an expression that says the same to Prometheus: `prometheus_rules` writes a rule file.

python -m kafkapy.http.alerting.rules > deploy/prometheus/rules.yml
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from kafkapy.broker.config.table.values import ConfigError
from kafkapy.http.posting import SCHEMES

KEY: Final = "http.alerts.file"


class Kind(NamedTuple):
    told: str
    above: float
    for_seconds: int
    # Of Prometheus; {above} is the bound, {match} a matcher for what `label` names.
    expression: str
    label: str


KINDS: Final[Mapping[str, Kind]] = {
    "lag_grows": Kind(
        "a group's lag has grown all the while, by more than so many records a second",
        0, 600, "sum by (consumergroup) (kafka_consumergroup_lag_rate{match}) > {above}",
        "consumergroup",
    ),
    "lag_seconds": Kind(
        "the oldest record that a group has not read is older than so many seconds",
        300, 60, "max by (consumergroup) (kafka_consumergroup_lag_seconds_max{match}) > {above}",
        "consumergroup",
    ),
    "no_leader": Kind(
        "more than so many partitions have no leader",
        0, 30, "max(kafka_offline_partitions) > {above}", "",
    ),
    "under_min_isr": Kind(
        "more than so many partitions led here have fewer replicas in sync than acks=all needs",
        0, 60, "kafka_server_under_min_isr_partitions > {above}", "",
    ),
    "disk_full": Kind(
        "as it fills now, a log directory's volume is full within so many hours",
        24, 300,
        "predict_linear(kafka_log_directory_usable_bytes{match}[1h], {above} * 3600) < 0",
        "directory",
    ),
    "certificate_expires": Kind(
        "a listener's certificate ends within so many days",
        14, 0,
        "kafka_certificate_expires_timestamp_seconds{match} - time() < {above} * 86400",
        "listener",
    ),
    "transaction_stuck": Kind(
        "a transaction has been open for more than so many seconds",
        900, 0, "kafka_transaction_oldest_open_seconds > {above}", "",
    ),
    "poison_message": Kind(
        "a group that has members and records to read has stood at the same offset for more than "
        "so many seconds",
        300, 0, "kafka_consumergroup_stuck_seconds{match} > {above}", "consumergroup",
    ),
}  # fmt: skip
_FIELDS: Final[Mapping[str, Any]] = {
    "name": str,
    "kind": str,
    "above": (int, float),
    "for": (int, float),
    "match": str,
    "severity": str,
}


class Rule(NamedTuple):
    name: str
    kind: str
    above: float
    for_seconds: float
    match: str = "*"
    severity: str = "warning"


class Alerting(NamedTuple):
    rules: tuple[Rule, ...]
    webhook: str | None = None


def default_rules() -> tuple[Rule, ...]:
    """One of each kind."""
    critical = {"no_leader", "under_min_isr"}
    return tuple(
        Rule(
            name.replace("_", " "),
            name,
            kind.above,
            kind.for_seconds,
            severity="critical" if name in critical else "warning",
        )
        for name, kind in KINDS.items()
    )


def load(path: str | None) -> Alerting:
    """ConfigError for a file that cannot be read, or says what nobody understands."""
    if path is None:
        return Alerting(default_rules())
    try:
        with open(path, "rb") as file:
            told = tomllib.load(file)
    except OSError as failed:
        raise ConfigError(KEY, path, f"{failed.strerror}.") from None
    except tomllib.TOMLDecodeError as bad:
        raise ConfigError(KEY, path, f"it is not TOML: {bad}.") from None
    unknown = set(told) - {"rule", "webhook"}
    if unknown:
        raise ConfigError(KEY, path, f"it has [[rule]] and webhook, and no {sorted(unknown)}.")
    webhook = told.get("webhook")
    if webhook is not None and not str(webhook).startswith(SCHEMES):
        raise ConfigError(KEY, path, "webhook is a URL.")
    rules = tuple(_rule(path, one) for one in told.get("rule", ()))
    names = [one.name for one in rules]
    if len(set(names)) < len(names):
        raise ConfigError(KEY, path, "two rules have the same name.")
    return Alerting(rules, webhook)


def _rule(path: str, told: Mapping[str, Any]) -> Rule:
    for name, value in told.items():
        if name not in _FIELDS or not isinstance(value, _FIELDS[name]):
            raise ConfigError(KEY, path, f"a rule has no {name} = {value!r}.")
    kind = KINDS.get(told.get("kind", ""))
    if kind is None or not told.get("name"):
        raise ConfigError(KEY, path, f"a rule has a name and a kind: {', '.join(KINDS)}.")
    return Rule(
        told["name"],
        told["kind"],
        told.get("above", kind.above),
        told.get("for", kind.for_seconds),
        told.get("match", "*"),
        told.get("severity", "warning"),
    )


def prometheus_rules(rules: Iterable[Rule]) -> str:
    """YAML of Prometheus' rule files."""
    lines = ["groups:", "  - name: kafkapy", "    rules:"]
    for rule in rules:
        kind = KINDS[rule.kind]
        matcher = ""
        if kind.label and rule.match != "*":
            matcher = f"{{{kind.label}=~{json.dumps(_regex(rule.match))}}}"
        expression = kind.expression.replace("{match}", matcher)
        expression = expression.replace("{above}", f"{rule.above:g}")
        lines += [
            f"      - alert: {json.dumps(_camel(rule.name))}",
            f"        expr: {json.dumps(expression)}",
            f"        for: {rule.for_seconds:g}s",
            "        labels:",
            f"          severity: {json.dumps(rule.severity)}",
            "        annotations:",
            f"          summary: {json.dumps(kind.told)}",
        ]
    return "\n".join(lines) + "\n"


def _regex(match: str) -> str:
    """Of a shell's pattern with * and ?."""
    special = {"*": ".*", "?": "."}
    escaped = "\\.+()[]{}^$|"
    return "".join(special.get(one, f"\\{one}" if one in escaped else one) for one in match)


def _camel(name: str) -> str:
    return "Kafka" + "".join(part.capitalize() for part in name.replace("-", " ").split())


if __name__ == "__main__":
    import sys

    sys.stdout.write(prometheus_rules(default_rules()))
