"""`SecuredBroker`: a broker that asks who is there and what they may, to see how an application
meets a refusal.

    with SecuredBroker() as kafka:                       TLS and SASL, and an authorizer
        kafka.users.add("alice", "her secret")
        kafka.acls.allow("alice", "read", topic="orders")
        Consumer({**kafka.login("alice"), ...})
        kafka.certificates.show_expired()                from the next connection on

`bootstrap` is the secured listener. The test's own requests (create_topic, produce, records ...)
are those of a super user. Certificates are made for this broker and thrown away with it; they
need kafkapy[cryptography].
"""

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from kafkapy.broker.config.table.refusals import STANDARD_AUTHORIZER
from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing.asking.ask import check
from kafkapy.testing.broker import LOOK_SECONDS, Broker
from kafkapy.testing.security.access import Acls, Users
from kafkapy.testing.security.showing import Certificates

LISTENER: Final = "SECURED"
_PREFIX: Final = f"listener.name.{LISTENER.lower()}."
_PROTOCOLS: Final = ("SASL_SSL", "SASL_PLAINTEXT", "SSL")
_MECHANISMS: Final = ("PLAIN", *scram.MECHANISMS)
_BROKER: Final = 4
_SET: Final = 0
_PATIENCE_SECONDS: Final = 10.0


class SecuredBroker(Broker):
    """`protocol`: SASL_SSL, SASL_PLAINTEXT, or SSL, where clients are known by certificates."""

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        protocol: str = "SASL_SSL",
        directory: str | os.PathLike[str] | None = None,
        api_versions: str | None = None,
        hooks: Mapping[str, object] | None = None,
    ) -> None:
        if protocol not in _PROTOCOLS:
            raise ValueError(f"{protocol}: it is one of {', '.join(_PROTOCOLS)}")
        super().__init__(settings, directory=directory, api_versions=api_versions, hooks=hooks)
        self.protocol = protocol
        self.acls = Acls(self._ask, self._wait)
        self.users = Users(self._ask, self._wait, self._alter)
        self._certificates: Certificates | None = None
        self._remove_files: Callable[[], object] = _nothing_to_remove

    def close(self) -> None:
        super().close()
        self._remove_files()

    @property
    def certificates(self) -> Certificates:
        """What this broker shows, and what clients show it."""
        if not self._has_tls:
            raise ValueError(f"{self.protocol} has no certificates")
        if self._certificates is None:
            directory = tempfile.mkdtemp(prefix="kafkapy-certificates-")
            self._remove_files = weakref.finalize(self, shutil.rmtree, directory, True)
            self._certificates = Certificates(Path(directory), self._host, self._alter)
        return self._certificates

    def login(self, user: str, mechanism: str = "SCRAM-SHA-256") -> dict[str, Any]:
        """What librdkafka's clients (confluent-kafka) connect with: as a user who was added, or
        with protocol SSL as the owner of a certificate."""
        found: dict[str, Any] = {
            "bootstrap.servers": self.bootstrap,
            "security.protocol": self.protocol,
        }
        if self._has_tls:
            found["ssl.ca.location"] = str(self.certificates.authority)
        if self.protocol == "SSL":
            own = self.certificates.client(user)
            return {
                **found,
                "ssl.certificate.location": str(own.certificate),
                "ssl.key.location": str(own.key),
            }
        if mechanism not in _MECHANISMS:
            raise ValueError(f"{mechanism}: it is one of {', '.join(_MECHANISMS)}")
        return {
            **found,
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": self.users.password(user),
        }

    @property
    def _has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    def _settings_of_this_start(self) -> Mapping[str, str]:
        """Nobody is unknown on the secured listener: who is, is the test, on the other one."""
        shown = self.certificates.settings() if self._has_tls else {}
        own = {
            "plain.sasl.jaas.config": self.users.plain_line(),
            # "CN=alice,O=..." is User:alice.
            "ssl.principal.mapping.rules": "RULE:^.*CN=([^,]+).*$/$1/",
            "ssl.client.auth": "required" if self.protocol == "SSL" else "none",
            **shown,
        }
        return {
            "listeners": f"{LISTENER}://{self._host}:{self.port},"
            f"PLAINTEXT://{self._host}:0,CONTROLLER://127.0.0.1:0",
            "listener.security.protocol.map": f"{LISTENER}:{self.protocol},"
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": "User:ANONYMOUS",
            "sasl.enabled.mechanisms": ",".join(_MECHANISMS),
            # Nobody guesses here: a test need not wait.
            "connection.failed.authentication.delay.ms": "10",
            **{f"{_PREFIX}{name}": text for name, text in own.items()},
            **self._settings,
        }

    def _alter(self, settings: Mapping[str, str]) -> None:
        """Of the secured listener, without its prefix; in force when this returns."""
        named = {f"{_PREFIX}{name}": text for name, text in settings.items()}
        node_id = self._call(lambda broker: broker.node_id)
        configs = [
            {"name": name, "config_operation": _SET, "value": text} for name, text in named.items()
        ]
        row = {"resource_type": _BROKER, "resource_name": str(node_id), "configs": configs}
        body = {"resources": [row], "validate_only": False}
        (answer,) = self._ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body).responses
        check(answer.error_code, "settings", answer.error_message)
        self._wait(lambda broker: named.items() <= broker.config.broker_dynamic.items())

    def _wait(self, condition: Callable[[BrokerRole], bool]) -> None:
        """What was answered is committed; here it counts a moment later."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._call(condition):
            if time.monotonic() > deadline:
                raise TimeoutError("the broker does not know it yet")
            time.sleep(LOOK_SECONDS)


def _nothing_to_remove() -> None:
    pass
