"""`kafka.certificates` of a SecuredBroker: what it shows, and what clients show it.

show_good, show_expired, show_of_another_host, show_of_a_stranger   from the next connection on
client("alice"), expired_client("alice"), strange_client("alice")   files for a client
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from kafkapy.testing.security.certificates import Authority, Certificate

_NAME: Final = "broker"
_KEY: Final = "ssl.keystore.key"
_CHAIN: Final = "ssl.keystore.certificate.chain"


class Files(NamedTuple):
    """Of a client's certificate, in PEM; `both` has the two in one."""

    certificate: Path
    key: Path
    both: Path


class Certificates:
    def __init__(
        self, directory: Path, host: str, alter: Callable[[Mapping[str, str]], None]
    ) -> None:
        self._directory = directory
        self._hosts = ("localhost", host)
        self._alter = alter
        self._shown: Certificate | None = None

    @cached_property
    def authority(self) -> Path:
        """Whom clients must trust: a PEM file."""
        return self._authority.write(self._directory / "authority.pem")

    @cached_property
    def strange_authority(self) -> Path:
        """One that has nothing to do with this broker."""
        return self._stranger.write(self._directory / "strange-authority.pem")

    def settings(self) -> dict[str, str]:
        """Of the broker's listener, as it starts."""
        if self._shown is None:
            self._shown = self._authority.issue(_NAME, hosts=self._hosts)
        return {
            "ssl.keystore.type": "PEM",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": self._authority.pem,
            # Another host's is refused by a node that is not told that it may come.
            "ssl.allow.san.changes": "true",
            **_settings(self._shown),
        }

    def show_good(self) -> None:
        self._show(self._authority.issue(_NAME, hosts=self._hosts))

    def show_expired(self) -> None:
        """It ran out an hour ago."""
        self._show(self._authority.issue(_NAME, hosts=self._hosts, lasts=self._authority.EXPIRED))

    def show_of_another_host(self) -> None:
        self._show(self._authority.issue(_NAME, hosts=("another-host.invalid",)))

    def show_of_a_stranger(self) -> None:
        """By an authority that nobody trusts."""
        self._show(self._stranger.issue(_NAME, hosts=self._hosts))

    def client(self, name: str) -> Files:
        return self._write(f"client-{name}", self._authority.issue(name))

    def expired_client(self, name: str) -> Files:
        expired = self._authority.issue(name, lasts=self._authority.EXPIRED)
        return self._write(f"expired-{name}", expired)

    def strange_client(self, name: str) -> Files:
        """By an authority that the broker does not trust."""
        return self._write(f"strange-{name}", self._stranger.issue(name))

    def _show(self, one: "Certificate") -> None:
        self._alter(_settings(one))
        self._shown = one

    @cached_property
    def _authority(self) -> "Authority":
        return _new_authority("kafkapy test authority")

    @cached_property
    def _stranger(self) -> "Authority":
        return _new_authority("an authority that nobody knows")

    def _write(self, name: str, one: "Certificate") -> Files:
        files = Files(*(self._directory / f"{name}.{end}" for end in ("crt", "key", "pem")))
        files.certificate.write_text(one.pem)
        files.key.write_text(one.key_pem())
        one.write(files.both)
        return files


def _settings(one: "Certificate") -> dict[str, str]:
    return {_KEY: one.key_pem(), _CHAIN: one.pem}


def _new_authority(name: str) -> "Authority":
    try:
        from kafkapy.testing.security.certificates import Authority
    except ImportError as missing:
        raise RuntimeError("to make certificates, install kafkapy[cryptography]") from missing
    return Authority(name)
