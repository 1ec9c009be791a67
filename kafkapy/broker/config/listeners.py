"""listeners, advertised.listeners and who speaks on them.

listeners=PLAINTEXT://:9092,CONTROLLER://:9093      where this node listens
advertised.listeners=PLAINTEXT://kafka-1:9092       what others connect to
controller.listener.names=CONTROLLER                which of them are the controller's
inter.broker.listener.name=PLAINTEXT                which one brokers use among themselves
"""

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from kafkapy.broker.config.table.values import ConfigError

_ENDPOINT: Final = re.compile(
    r"(?P<name>[\w.-]+)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>\d+)"
)
_VOTER: Final = re.compile(r"(?P<id>\d+)@\[?(?P<host>[0-9a-zA-Z\-%._:]+)\]?:(?P<port>\d+)")
_ADDRESS: Final = re.compile(r"\[?(?P<host>[0-9a-zA-Z\-%._:]+)\]?:(?P<port>\d+)")


class SecurityProtocol(IntEnum):
    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def has_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


class Endpoint(NamedTuple):
    """A listener: where it is and what it speaks. An empty host means every interface."""

    name: str
    host: str
    port: int
    protocol: SecurityProtocol


class ConfiguredVoter(NamedTuple):
    node_id: int
    host: str
    port: int


class Settings(Protocol):
    """The keys that are about listeners, as BrokerConfig has them."""

    @property
    def listeners(self) -> tuple[str, ...]: ...
    @property
    def advertised_listeners(self) -> tuple[str, ...] | None: ...
    @property
    def listener_security_protocol_map(self) -> str: ...
    @property
    def controller_listener_names(self) -> tuple[str, ...]: ...
    @property
    def inter_broker_listener_name(self) -> str | None: ...
    @property
    def security_inter_broker_protocol(self) -> str: ...
    @property
    def process_roles(self) -> tuple[str, ...]: ...


class Listeners:
    """What the settings above add up to; ConfigError where they contradict each other."""

    def __init__(self, settings: Settings) -> None:
        self.protocols = _protocols(settings)
        self.controller_names = settings.controller_listener_names
        self.all = self._parsed("listeners", settings.listeners)
        self._check_unique()
        self.broker = tuple(one for one in self.all if one.name not in self.controller_names)
        self.controller = tuple(one for one in self.all if one.name in self.controller_names)
        self.inter_broker_name = self._inter_broker_name(settings)
        self.advertised = self._advertised(settings)
        self._check_roles(settings)

    @property
    def is_secured(self) -> bool:
        return self.spoken != {SecurityProtocol.PLAINTEXT}

    @property
    def spoken(self) -> set[SecurityProtocol]:
        """By this node's listeners, and by those that it connects to."""
        names = (*self.controller_names[:1], self.inter_broker_name)
        return {one.protocol for one in self.all} | {self.protocol_of(name) for name in names}

    @property
    def endpoints_and_peers(self) -> tuple[object, ...]:
        """All that is opened by these settings, and how others are spoken to."""
        names = (*self.controller_names, self.inter_broker_name)
        return self.all, [(one, self.protocol_of(one)) for one in names]

    def protocol_of(self, name: str) -> SecurityProtocol:
        return self.protocols.get(name, SecurityProtocol.PLAINTEXT)

    def _parsed(self, key: str, texts: Sequence[str]) -> tuple[Endpoint, ...]:
        endpoints = []
        for text in texts:
            found = _ENDPOINT.fullmatch(text)
            if found is None or int(found["port"]) > 65535:
                raise ConfigError(key, text, "a listener is <name>://<host>:<port>.")
            name = found["name"].upper()
            if name not in self.protocols:
                raise ConfigError(
                    key, text, f"listener.security.protocol.map has no protocol for {name}."
                )
            endpoints.append(
                Endpoint(name, found["host"], int(found["port"]), self.protocols[name])
            )
        return tuple(endpoints)

    def _check_unique(self) -> None:
        names = [one.name for one in self.all]
        if len(set(names)) != len(names):
            raise ConfigError("listeners", ",".join(names), "each listener needs its own name.")
        ports = [one.port for one in self.all if one.port != 0]
        if len(set(ports)) != len(ports) and len({(o.host, o.port) for o in self.all}) < len(ports):
            raise ConfigError(
                "listeners",
                ",".join(str(port) for port in ports),
                "each listener needs its own port.",
            )

    def _inter_broker_name(self, settings: Settings) -> str:
        name = settings.inter_broker_listener_name
        if name is None:
            protocol = settings.security_inter_broker_protocol
            speaking = [one.name for one in self.broker if one.protocol.name == protocol]
            return speaking[0] if speaking else protocol
        if name.upper() not in self.protocols:
            raise ConfigError(
                "inter.broker.listener.name",
                name,
                "listener.security.protocol.map does not know it.",
            )
        return name.upper()

    def _advertised(self, settings: Settings) -> tuple[Endpoint, ...]:
        """What is told to others: every listener, with what advertised.listeners replaces."""
        told = self._parsed("advertised.listeners", settings.advertised_listeners or ())
        replaced = {one.name: one for one in told}
        if settings.advertised_listeners is None:
            return self.all
        for one in told:
            if one.host in ("0.0.0.0", "::"):
                raise ConfigError(
                    "advertised.listeners", one.host, "nobody can connect to that address."
                )
        return told + tuple(one for one in self.controller if one.name not in replaced)

    def _check_roles(self, settings: Settings) -> None:
        roles = settings.process_roles
        if not self.controller_names:
            raise ConfigError("controller.listener.names", "", "it must name a listener.")
        if "controller" in roles and not self.controller:
            raise ConfigError(
                "controller.listener.names",
                ",".join(self.controller_names),
                "with the controller role, listeners must have one of them.",
            )
        if "broker" in roles:
            if self.inter_broker_name in self.controller_names:
                raise ConfigError(
                    "controller.listener.names",
                    ",".join(self.controller_names),
                    f"{self.inter_broker_name} is the brokers' own listener.",
                )
            if self.inter_broker_name not in {one.name for one in self.advertised}:
                raise ConfigError(
                    "inter.broker.listener.name",
                    self.inter_broker_name,
                    "it must be one of the advertised listeners.",
                )
        elif self.broker:
            raise ConfigError(
                "listeners",
                ",".join(one.name for one in self.broker),
                "a node with the controller role alone has only controller listeners.",
            )


def _protocols(settings: Settings) -> dict[str, SecurityProtocol]:
    key = "listener.security.protocol.map"
    protocols: dict[str, SecurityProtocol] = {}
    for pair in filter(None, re.split(r"\s*,\s*", settings.listener_security_protocol_map)):
        name, _, protocol = pair.rpartition(":")
        if not name or protocol not in SecurityProtocol.__members__:
            choices = ", ".join(SecurityProtocol.__members__)
            raise ConfigError(key, pair, f"an entry is <listener>:<protocol> out of {choices}.")
        protocols[name.upper()] = SecurityProtocol[protocol]
    for name in settings.controller_listener_names:
        protocols.setdefault(name.upper(), SecurityProtocol.PLAINTEXT)
    return protocols


def parse_voters(texts: Sequence[str]) -> tuple[ConfiguredVoter, ...]:
    """controller.quorum.voters: <id>@<host>:<port>, ..."""
    voters = []
    for text in texts:
        found = _VOTER.fullmatch(text)
        if found is None:
            raise ConfigError("controller.quorum.voters", text, "a voter is <id>@<host>:<port>.")
        voters.append(ConfiguredVoter(int(found["id"]), found["host"], int(found["port"])))
    return tuple(voters)


def parse_addresses(key: str, texts: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """controller.quorum.bootstrap.servers: <host>:<port>, ..."""
    addresses = []
    for text in texts:
        found = _ADDRESS.fullmatch(text)
        if found is None:
            raise ConfigError(key, text, "an address is <host>:<port>.")
        addresses.append((found["host"], int(found["port"])))
    return tuple(addresses)
