"""Whatever a node tells anybody, no secret of it is in there: each is looked for in all of it."""

import json
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from kafkapy.cli.main import main
from kafkapy.core.errors import Refused
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import SecuredBroker

_KEY_SETTING = "listener.name.secured.ssl.keystore.key"
PASSWORD = "her-secret-password"
GUESSED = "a-guessed-password"
TOKEN_KEY = "the-key-of-all-tokens"
KEY_PASSWORD = "the-password-of-the-key"
INTER_BROKER = "the-password-between-nodes"
SETTINGS = {
    "delegation.token.secret.key": TOKEN_KEY,
    "listener.name.plaintext.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain."
    f'PlainLoginModule required username="node" password="{INTER_BROKER}";',
}


def told(kafka: SecuredBroker) -> str:
    """To the journal, and to whoever asks."""
    asked = AdminClient({"bootstrap.servers": plain_address(kafka)})
    shown: list[Any] = [kafka.events()]
    for done in asked.describe_configs([ConfigResource(ResourceType.BROKER, "1")]).values():
        shown += [(one.name, one.value, one.synonyms) for one in done.result(20).values()]
    for api, version, body in (
        (ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": None}),
        (ApiKey.DESCRIBE_ACLS, 3, _ANY_ACL),
    ):
        shown.append(kafka._ask(api, version, body))
    return repr(shown)


_ANY_ACL = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def plain_address(kafka: SecuredBroker) -> str:
    port = kafka._call(lambda broker: broker.endpoints.broker[1].port)
    return f"127.0.0.1:{port}"


def refused_login(kafka: SecuredBroker, mechanism: str) -> str:
    said: list[str] = []
    settings = {**kafka.login("alice", mechanism), "sasl.password": GUESSED, "log_level": 0}
    settings["error_cb"] = lambda one: said.append(str(one))
    admin = AdminClient(settings)
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=1)
    admin.poll(0)
    return repr(said)


def refused_key_store(kafka: SecuredBroker) -> str:
    """A key whose password is another: refused, and the refusal is told."""
    certificates = kafka.certificates
    certificates.settings()
    assert certificates._shown is not None
    locked = certificates._shown.key_pem(KEY_PASSWORD)
    with pytest.raises(Refused) as refused:
        kafka._alter({"ssl.keystore.key": locked, "ssl.key.password": GUESSED})
    return str(refused.value)


def test_no_secret_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with SecuredBroker(SETTINGS, directory=tmp_path) as kafka:
        kafka.users.add("alice", PASSWORD)
        kafka.acls.allow("alice", "describe", topic="orders")
        AdminClient(kafka.login("alice")).list_topics(timeout=20)
        heard = [refused_login(kafka, one) for one in ("PLAIN", "SCRAM-SHA-256")]
        heard += [refused_key_store(kafka), told(kafka)]
        key = kafka._call(lambda broker: str(broker.config.static[_KEY_SETTING]))
        for one in [
            ("users", "list"),
            ("acls", "list"),
            ("topics", "list"),
            ("quorum", "describe"),
        ]:
            with suppress(SystemExit):
                main([*one, "--bootstrap-server", plain_address(kafka)])
        stored = kafka._call(lambda broker: list(broker.image.scram.values()))
    for file in sorted(tmp_path.rglob("*.log")):
        main(["dump-log", "--records", "--json", str(file)])
    captured = capfd.readouterr()
    everything = "\n".join([*heard, captured.out, captured.err])
    assert "[hidden]" in captured.out, "the altered settings were dumped"
    assert "let in" in everything
    assert "authentication failed" in everything
    secrets = {
        "her password": PASSWORD,
        "a guessed one": GUESSED,
        "the key of tokens": TOKEN_KEY,
        "the password of a key": KEY_PASSWORD,
        "the login between nodes": INTER_BROKER,
        "the private key": "".join(key.splitlines()[1:3]),
        "a part of it": key.splitlines()[1][:40],
    }
    for record in stored:
        for bytes_ in (record.stored_key, record.server_key):
            secrets[f"what proves {record.name}"] = b64encode(bytes_).decode()
            secrets[f"{record.name} as JSON"] = json.dumps(
                bytes_.decode("utf-8", "backslashreplace")
            )[1:-1]
    found = [name for name, secret in secrets.items() if secret in everything]
    assert found == []
