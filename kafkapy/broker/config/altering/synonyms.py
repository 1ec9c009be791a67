"""Keys that stand in for one another.

A topic's or a group's key falls back on keys of the broker, and a time of the broker may
be given in milliseconds, minutes or hours: the first one that is set counts.
"""

from collections.abc import Mapping
from typing import Final

LISTENER_PREFIX: Final = "listener.name."
MS_PER_UNIT: Final = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}

# In order of precedence; for the name on the left the ones on the right are asked too.
_TIMES: Final[Mapping[str, tuple[str, ...]]] = {
    "log.roll.ms": ("log.roll.ms", "log.roll.hours"),
    "log.roll.jitter.ms": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    "log.retention.ms": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
}
_FAMILY: Final = {name: family for family in _TIMES.values() for name in family} | {
    "log.flush.scheduler.interval.ms": ("log.flush.scheduler.interval.ms",)
}


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The broker's keys that may hold the value of `name`, first the one that wins.

    `listener.name.<listener>.<key>` falls back on <key>.
    """
    if name in _FAMILY:
        return _FAMILY[name]
    base = base_name(name)
    return (name,) if base == name else (name, base)


def base_name(name: str) -> str:
    """`ssl.keystore.type` of `listener.name.external.ssl.keystore.type`; else `name`."""
    if not name.startswith(LISTENER_PREFIX):
        return name
    rest = name.removeprefix(LISTENER_PREFIX).partition(".")[2]
    mechanism, dot, of_mechanism = rest.partition(".")
    if dot and mechanism in _MECHANISMS:
        return of_mechanism
    return rest or name


# A key may be given for one mechanism of a listener: listener.name.<listener>.<mechanism>.<key>
_MECHANISMS: Final = ("plain", "scram-sha-256", "scram-sha-512", "oauthbearer", "gssapi")


def scale_ms(name: str) -> int:
    """Milliseconds in the unit that the last word of `name` says."""
    return MS_PER_UNIT.get(name.rpartition(".")[2], 1)
