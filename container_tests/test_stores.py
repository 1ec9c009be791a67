"""Key stores as users of Apache Kafka's image have them: JKS files among the secrets, their
passwords in files beside them."""

import ssl
from collections.abc import Callable
from pathlib import Path
from shutil import copy
from typing import Any

from container_tests.engine import ROOT
from container_tests.test_compose import goes_round
from container_tests.test_image import LOCKED, serving
from kafkapy.server.tls.jks import read_jks

STORES = ROOT / "tests/fixtures/tls"
PASSWORDS = {"store_password": "store-password", "key_password": "key-password"}


def variables(port: int) -> dict[str, str]:
    return {
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_LISTENERS": "SSL://:9092,CONTROLLER://127.0.0.1:9093",
        "KAFKA_ADVERTISED_LISTENERS": f"SSL://localhost:{port}",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "SSL:SSL,CONTROLLER:PLAINTEXT",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "SSL",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_SSL_KEYSTORE_FILENAME": "server.jks",
        "KAFKA_SSL_KEYSTORE_CREDENTIALS": "store_password",
        "KAFKA_SSL_KEY_CREDENTIALS": "key_password",
        "KAFKA_SSL_TRUSTSTORE_FILENAME": "trusted.jks",
        "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "store_password",
    }


def test_jks_stores_are_found_where_apache_kafkas_image_has_them(
    run: Callable[..., str], ports: list[int], tmp_path: Path
) -> None:
    for store in STORES.glob("*.jks"):
        copy(store, tmp_path)
    for name, password in PASSWORDS.items():
        (tmp_path / name).write_text(f"{password}\n")
    tmp_path.chmod(0o755)
    told = [part for one in variables(ports[0]).items() for part in ("--env", "=".join(one))]
    publish = ("--publish", f"127.0.0.1:{ports[0]}:9092")
    secrets = ("--volume", f"{tmp_path}:/etc/kafka/secrets:ro")
    serving(run(*LOCKED, *publish, *secrets, *told))
    trusted = read_jks((STORES / "trusted.jks").read_bytes(), None, None)
    client: dict[str, Any] = {
        "bootstrap.servers": f"localhost:{ports[0]}",
        "security.protocol": "SSL",
        "ssl.ca.pem": ssl.DER_cert_to_PEM_cert(trusted.certificates[0]),
    }
    goes_round(client["bootstrap.servers"], "t", settings=client)
