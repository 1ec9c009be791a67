"""Key stores that are altered while the node runs: what cannot be read is refused beforehand."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkapy.broker.config.altering.broker_alter import check_broker_change
from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.core.errors import Refused
from kafkapy.server.tls.contexts import Tls
from kafkapy.server.tls.stores import MOST_BYTES
from kafkapy.testing.security.certificates import Authority
from tests.broker.handlers.journal import ToldJournal
from tests.server.tls.test_contexts import configured, der, own_certificate

AUTHORITY = Authority()
LOCATION = "listener.name.ssl.ssl.keystore.location"
TRUSTED = "listener.name.ssl.ssl.truststore.location"
PASSWORD = "listener.name.ssl.ssl.key.password"


@pytest.fixture
def config(tmp_path: Path) -> BrokerConfig:
    pem = AUTHORITY.issue("first", hosts=("localhost",))
    return configured(keystore_type="PEM", keystore_location=pem.write(tmp_path / "first.pem"))


def alter(config: BrokerConfig, changes: dict[str, str | None]) -> None:
    """As a broker does: judged, then written down."""
    check_broker_change(config, changes)
    left = {**config.broker_dynamic, **changes}
    given = {name: text for name, text in left.items() if text is not None}
    config.alter(cluster={}, broker=given)


def test_a_store_that_can_be_read_counts_at_once(config: BrokerConfig, tmp_path: Path) -> None:
    tls = Tls(config, ToldJournal())
    second = AUTHORITY.issue("first", hosts=("localhost", "other.example.org"))
    alter(config, {LOCATION: str(second.write(tmp_path / "second.pem"))})
    listener = tls.of("SSL")
    assert listener is not None
    assert own_certificate(listener) == der(second)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read"),
        ("nothing of the kind", "no private key"),
        (AUTHORITY.pem, "no private key"),
        (AUTHORITY.issue("a").key_pem() + AUTHORITY.issue("b").pem, "cannot be used"),
    ],
    ids=["missing", "text", "without a key", "of another key"],
)
def test_one_that_cannot_is_refused_and_nothing_changes(
    config: BrokerConfig, tmp_path: Path, content: str | None, why: str
) -> None:
    tls = Tls(config, ToldJournal())
    listener = tls.of("SSL")
    assert listener is not None
    before = own_certificate(listener)
    path = tmp_path / "other.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(Refused, match=why):
        alter(config, {LOCATION: str(path)})
    assert own_certificate(listener) == before
    assert config.broker_dynamic == {}


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda path: os.mkfifo(path), "not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "not a file"),
        (lambda path: path.symlink_to("/dev"), "not a file"),
        (lambda path: path.write_bytes(bytes(MOST_BYTES + 1)), "larger than"),
        (lambda path: path.symlink_to("/proc/self/pagemap"), "larger than|cannot be read"),
    ],
    ids=["pipe", "device", "directory", "large", "endless"],
)
def test_what_is_no_file_or_too_large_is_refused_without_waiting_for_it(
    config: BrokerConfig, tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    """When it is altered, when it takes the place of a file that was good, and at the start."""
    journal = ToldJournal()
    tls = Tls(config, journal)
    path = tmp_path / "other.pem"
    make(path)
    for location in (LOCATION, TRUSTED):
        with pytest.raises(Refused, match=why):
            alter(config, {location: str(path)})
    path.rename(tmp_path / "first.pem")
    tls.refresh()
    assert any("certificates not renewed" in str(one) for one in journal.told)
    with pytest.raises(ConfigError, match=why):
        Tls(config, ToldJournal())


def test_a_name_that_no_file_can_have_is_refused(config: BrokerConfig) -> None:
    Tls(config, ToldJournal())
    with pytest.raises(Refused, match="no file has that name"):
        alter(config, {LOCATION: "a\0b"})


def test_what_was_altered_before_counts(config: BrokerConfig, tmp_path: Path) -> None:
    """The password first, then the file that needs it; taking the password away is refused."""
    Tls(config, ToldJournal())
    locked = AUTHORITY.issue("first", hosts=("localhost",))
    path = locked.write(tmp_path / "locked.pem", "a-secret")
    with pytest.raises(Refused) as refused:
        alter(config, {LOCATION: str(path), PASSWORD: "another-secret"})
    assert "secret" not in str(refused.value)
    alter(config, {LOCATION: str(path), PASSWORD: "a-secret"})
    with pytest.raises(Refused):
        alter(config, {PASSWORD: None})
    alter(config, {PASSWORD: None, LOCATION: None})


@pytest.mark.parametrize(
    ("name", "hosts", "why", "allowed"),
    [
        ("second", ("localhost",), "is for CN=second,.* in use for CN=first", "dn"),
        ("first", ("other",), "does not name localhost", "san"),
        ("first", (), "does not name localhost", "san"),
    ],
)
def test_one_that_names_somebody_else_is_refused_unless_it_may(
    config: BrokerConfig,
    tmp_path: Path,
    name: str,
    hosts: tuple[str, ...],
    why: str,
    allowed: str,
) -> None:
    tls = Tls(config, ToldJournal())
    listener = tls.of("SSL")
    assert listener is not None
    before = own_certificate(listener)
    other = AUTHORITY.issue(name, hosts=hosts)
    change: dict[str, str | None] = {LOCATION: str(other.write(tmp_path / "other.pem"))}
    with pytest.raises(Refused, match=why):
        alter(config, change)
    assert own_certificate(listener) == before
    own = configured(
        keystore_type="PEM",
        keystore_location=tmp_path / "first.pem",
        **{f"allow_{allowed}_changes": "true"},
    )
    tls = Tls(own, ToldJournal())
    alter(own, change)
    listener = tls.of("SSL")
    assert listener is not None
    assert own_certificate(listener) == der(other)
