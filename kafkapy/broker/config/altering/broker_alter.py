"""Altering a broker's settings while it runs: what may be altered, where, and to what.

The broker that gets the request judges it against its own server.properties, which the
controller does not have; then the controller writes it down. Kafka's sentences, as its
admin clients show them (formats/settings 1 and 2).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafkapy.broker.config.altering.scope import is_per_broker, is_static
from kafkapy.broker.config.altering.synonyms import base_name
from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.broker_keys import BrokerKeys, key_of
from kafkapy.broker.config.table.key import ConfigType
from kafkapy.broker.config.table.refusals import refuse_unbuilt
from kafkapy.broker.config.table.values import ConfigError, parse
from kafkapy.core.errors import ErrorCode, Refused

# A change to these is refused if it is more than double or less than half of what is.
_THREADS: Final = frozenset(
    {
        "background.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "log.cleaner.threads",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.manager.follower.thread.pool.size",
        "remote.log.reader.threads",
    }
)
# Apache Kafka opens and closes listeners while it runs.
_LISTENERS: Final = frozenset({"listeners", "listener.security.protocol.map"})
_AT_START: Final = (
    "kafkapy opens its listeners when it starts. Write it to server.properties, and start the "
    "node again."
)
_SECURITY: Final = ("ssl.",)


def check_change_alone(changes: Mapping[str, str | None], *, is_for_all: bool) -> None:
    """Refused(INVALID_REQUEST) unless these keys may be set (None: unset) while running, as far
    as can be told without a look at any broker."""
    names = list(changes)
    _none_of((name for name in names if is_static(name)), "Cannot update these configs dynamically")
    _none_of(
        (name for name in names if name.startswith(_SECURITY) and is_per_broker(name)),
        "These security configs can be dynamically updated only per-listener using the "
        "listener prefix",
    )
    for name, text in changes.items():
        key = key_of(name)
        if key is not None and text is not None:
            try:
                parse(key, text)
            except ConfigError as bad:
                raise _refused(str(bad)) from None
    if is_for_all:
        _none_of(
            (name for name in names if is_per_broker(name)),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )


def check_broker_change(config: BrokerConfig, changes: Mapping[str, str | None]) -> None:
    """The same beside the settings of this broker, and what they name. Of keys and values that
    can be, and only for who may alter them: files are opened here."""
    _check_together(config, {name: text for name, text in changes.items() if text is not None})
    _check_files(config, changes)


def check_appends(names: Sequence[str]) -> None:
    """Refused(INVALID_CONFIG) for one that is no list."""
    for name in names:
        key = key_of(name)
        if key is None or key.kind is not ConfigType.LIST:
            raise Refused(
                ErrorCode.INVALID_CONFIG,
                f"Config value append is not allowed for config key: {name}",
            )


def _check_together(config: BrokerConfig, changes: Mapping[str, str]) -> None:
    for name, text in changes.items():
        if name in _THREADS:
            _check_threads(config, name, text)
    if "cordoned.log.dirs" in changes:
        _check_cordoned(config, changes["cordoned.log.dirs"])
    try:
        # What it was started with stands; it was judged then.
        after = BrokerConfig({**config.static, **changes}, takes_unbuilt=True)
        refuse_unbuilt(after, BrokerKeys, changes)
        for name in _LISTENERS & changes.keys():
            if after.listening.endpoints_and_peers != config.listening.endpoints_and_peers:
                raise ConfigError(name, changes[name], _AT_START)
    except ConfigError as bad:
        raise _refused(str(bad)) from None


def _check_files(config: BrokerConfig, changes: Mapping[str, str | None]) -> None:
    """A key store that cannot be read is refused while the one before is still there."""
    if not any(base_name(name).startswith(_SECURITY) for name in changes):
        return
    given = {**config.static, **config.cluster_dynamic, **config.broker_dynamic}
    for name, text in changes.items():
        given.pop(name, None)
        if text is None:
            text = config.static.get(name)
        if text is not None:
            given[name] = text
    try:
        config.check_files(BrokerConfig(given, takes_unbuilt=True), changes)
    except ConfigError as bad:
        raise _refused(str(bad)) from None


def _check_threads(config: BrokerConfig, name: str, text: str) -> None:
    wanted, current = int(text.strip()), config.value(name)
    assert isinstance(current, int), (name, current)
    why = None
    if wanted < current // 2:
        why = f"value should be at least half the current value {current}"
    elif wanted > current * 2:
        why = f"value should not be greater than double the current value {current}"
    if why is not None:
        raise _refused(f"Dynamic thread count update validation failed for {name}={text}, {why}")


def _check_cordoned(config: BrokerConfig, text: str) -> None:
    key = key_of("cordoned.log.dirs")
    assert key is not None, "it is in the table"
    wanted = parse(key, text)
    assert isinstance(wanted, tuple), wanted
    missing = [one for one in wanted if one not in (*config.data_directories, "*")]
    if missing:
        raise _refused(
            "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs "
            f"or log.dir. Missing entries : {', '.join(missing)}"
        )


def _none_of(names: Iterable[str], why: str) -> None:
    found = list(names)
    if found:
        raise _refused(f"{why}: [{', '.join(found)}]")


def _refused(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, why)
