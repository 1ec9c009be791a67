"""Settings that must fit one another: each is fine alone, together they make no sense.

A rule names the key to blame, says whether the settings fit, and what is asked for. They
are checked at start, and against the settings that an alteration would lead to.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkapy.broker.config.listeners import parse_voters
from kafkapy.broker.config.table.values import ConfigError

if TYPE_CHECKING:
    from kafkapy.broker.config.broker_config import BrokerConfig


class Rule(NamedTuple):
    key: str
    fits: "Callable[[BrokerConfig], bool]"
    asked_for: str


def _within(value: str, least: str, most: str) -> list[Rule]:
    def number(config: "BrokerConfig", name: str) -> int:
        found = config.value(name)
        assert isinstance(found, int), (name, found)
        return found

    return [
        Rule(
            most,
            lambda config: number(config, least) <= number(config, most),
            f"it must be greater than or equal to {least}.",
        ),
        Rule(
            value,
            lambda config: number(config, least) <= number(config, value),
            f"it must be greater than or equal to {least}.",
        ),
        Rule(
            value,
            lambda config: number(config, value) <= number(config, most),
            f"it must be less than or equal to {most}.",
        ),
    ]


def _bounded(kind: str, name: str) -> list[Rule]:
    """group.<kind>.<name> lies between group.<kind>.min.<name> and .max.<name>."""
    return _within(f"group.{kind}.{name}", f"group.{kind}.min.{name}", f"group.{kind}.max.{name}")


def _longer(session: str, heartbeat: str) -> Rule:
    def fits(config: "BrokerConfig") -> bool:
        timeout, interval = config.value(session), config.value(heartbeat)
        assert isinstance(timeout, int), timeout
        assert isinstance(interval, int), interval
        return timeout > interval

    return Rule(session, fits, f"it must be greater than {heartbeat}.")


def _time(config: "BrokerConfig", name: str) -> int:
    """Of a key whose longest unit has a default."""
    value = config.time_ms(name)
    assert value is not None, name
    return value


def _voter_ids(config: "BrokerConfig") -> list[int]:
    return [one.node_id for one in parse_voters(config.controller_quorum_voters)]


def _own_port_is_named(config: "BrokerConfig") -> bool:
    """The host may be any name of this machine; the port is its own, or one that is told of."""
    named = {
        one.port
        for one in parse_voters(config.controller_quorum_voters)
        if one.node_id == config.node_id
    }
    listening = config.listening
    told = [one for one in listening.advertised if one.name in listening.controller_names]
    own = {one.port for one in (*listening.controller, *told)}
    return not named or bool(own & {0, *named})


# A quorum that these rules are broken of could never elect anybody.
_QUORUM: Final = (
    Rule(
        "controller.quorum.voters",
        lambda config: len(set(_voter_ids(config))) == len(_voter_ids(config)),
        "each voter needs an id of its own.",
    ),
    Rule(
        "controller.quorum.voters",
        lambda config: (
            not config.is_controller
            or not config.controller_quorum_voters
            or config.node_id in _voter_ids(config)
        ),
        "it must name this node (node.id), which is a controller.",
    ),
    Rule(
        "controller.quorum.voters",
        lambda config: config.is_controller or config.node_id not in _voter_ids(config),
        "it must not name this node (node.id), which is no controller.",
    ),
    Rule(
        "controller.quorum.voters",
        _own_port_is_named,
        "the port that it gives this node (node.id) must be that of its controller listener, as "
        "listeners or advertised.listeners have it.",
    ),
    Rule(
        "controller.quorum.bootstrap.servers",
        lambda config: (
            config.is_controller
            or bool(config.controller_quorum_voters or config.controller_quorum_bootstrap_servers)
        ),
        "a broker needs it, or controller.quorum.voters, to find the controllers.",
    ),
)

_KINDS: Final = ("consumer", "share", "streams")

RULES: Final[tuple[Rule, ...]] = (
    *_QUORUM,
    Rule(
        "kafkapy.hook.authorize",
        lambda config: not config.kafkapy_hook_authorize or bool(config.authorizer_class_name),
        "it needs authorizer.class.name: it is asked behind the ACLs.",
    ),
    Rule(
        "log.roll.ms",
        lambda config: _time(config, "log.roll.ms") >= 1,
        "it must be greater than or equal to 1.",
    ),
    Rule(
        "log.roll.jitter.ms",
        lambda config: _time(config, "log.roll.jitter.ms") >= 0,
        "it must be greater than or equal to 0.",
    ),
    Rule(
        "log.retention.ms",
        lambda config: config.time_ms("log.retention.ms") != 0,
        "it must be -1 (for ever) or greater than or equal to 1.",
    ),
    Rule(
        "log.cleaner.max.compaction.lag.ms",
        lambda config: (
            config.log_cleaner_min_compaction_lag_ms <= config.log_cleaner_max_compaction_lag_ms
        ),
        "it must be greater than or equal to log.cleaner.min.compaction.lag.ms.",
    ),
    Rule(
        "replica.fetch.wait.max.ms",
        lambda config: config.replica_fetch_wait_max_ms <= config.replica_socket_timeout_ms,
        "it must be less than or equal to replica.socket.timeout.ms.",
    ),
    Rule(
        "replica.fetch.wait.max.ms",
        lambda config: config.replica_fetch_wait_max_ms <= config.replica_lag_time_max_ms,
        "it must be less than or equal to replica.lag.time.max.ms, or ISRs would shrink and "
        "grow all the time.",
    ),
    Rule(
        "broker.heartbeat.interval.ms",
        lambda config: config.broker_heartbeat_interval_ms * 2 <= config.broker_session_timeout_ms,
        "it must be at most half of broker.session.timeout.ms.",
    ),
    Rule(
        "group.max.session.timeout.ms",
        lambda config: config.group_min_session_timeout_ms <= config.group_max_session_timeout_ms,
        "it must be greater than or equal to group.min.session.timeout.ms.",
    ),
    Rule(
        "security.inter.broker.protocol",
        lambda config: (
            not (
                "security.inter.broker.protocol" in config.static
                and "inter.broker.listener.name" in config.static
            )
        ),
        "only one of it and inter.broker.listener.name may be set.",
    ),
    *(rule for kind in _KINDS for rule in _bounded(kind, "session.timeout.ms")),
    *(rule for kind in _KINDS for rule in _bounded(kind, "heartbeat.interval.ms")),
    *(rule for kind in _KINDS for rule in _bounded(kind, "assignment.interval.ms")),
    *(
        _longer(f"group.{kind}.session.timeout.ms", f"group.{kind}.heartbeat.interval.ms")
        for kind in _KINDS
    ),
    *_bounded("share", "record.lock.duration.ms"),
    *_bounded("share", "delivery.count.limit"),
    *_bounded("share", "partition.max.record.locks"),
)


def check_together(config: "BrokerConfig", shown: Mapping[str, str]) -> None:
    """ConfigError for the first rule that is broken; `shown` are values as they were given."""
    for key, fits, asked_for in RULES:
        if not fits(config):
            raise ConfigError(key, shown.get(key, config.value(key)), asked_for)
