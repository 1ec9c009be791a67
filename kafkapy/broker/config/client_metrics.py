"""Client metrics subscriptions (ConfigResource CLIENT_METRICS, KIP-714): who pushes what."""

import re
from collections.abc import Mapping
from typing import Final

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import int32, strings
from kafkapy.broker.config.table.validators import between
from kafkapy.core.errors import ErrorCode, Refused

_LEAST_MS: Final = 100
_MOST_MS: Final = 3_600_000
_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,10}")

# What a subscription may match a client by, each with a regular expression.
MATCHABLE: Final = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


class ClientMetricsKeys(Section):
    metrics = strings((), "Prefixes of the metrics that clients push; * means all.")
    interval_ms = int32(300_000, "How often clients push.", valid=between(_LEAST_MS, _MOST_MS))
    match = strings((), "Clients that are meant, as <attribute>=<regular expression>.")


def check_client_metrics(name: str, values: Mapping[str, str]) -> None:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    for key, value in values.items():
        if key not in ClientMetricsKeys.table:
            raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {key}")
        if key == "interval.ms":
            _check_interval(value)
        elif key == "match":
            parse_match(value)


def _check_interval(value: str) -> None:
    if not _WHOLE_NUMBER.fullmatch(value.strip()) or not _LEAST_MS <= int(value) <= _MOST_MS:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {value} for interval.ms, interval must be between {_LEAST_MS} and "
            f"{_MOST_MS} (1 hour)",
        )


def parse_match(value: str) -> dict[str, re.Pattern[str]]:
    """The patterns by attribute; Refused(INVALID_CONFIG) on anything else."""
    patterns = {}
    for pair in filter(None, re.split(r"\s*,\s*", value.strip())):
        attribute, equals, pattern = pair.partition("=")
        if not equals or attribute.strip() not in MATCHABLE:
            raise _illegal(pair)
        try:
            patterns[attribute.strip()] = re.compile(pattern.strip())
        except re.error:
            raise _illegal(pair) from None
    return patterns


def _illegal(pair: str) -> Refused:
    return Refused(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pair}")
