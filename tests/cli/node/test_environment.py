"""Settings from the environment, by the rules of the apache/kafka image."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.cli.node.environment import (
    COMMON_CLUSTER_ID,
    VOLUME,
    cluster_id_of,
    from_environment,
    setting_name,
)
from kafkapy.kraft.storage.meta_properties import parse_meta_properties

ALONE = {"process.roles": "broker,controller", "node.id": "1",
         "controller.listener.names": "CONTROLLER"}  # fmt: skip
CLUSTER = {
    "KAFKA_NODE_ID": "2",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_LISTENERS": "PLAINTEXT://:19092,CONTROLLER://:9093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@a:9093,2@b:9093,3@c:9093",
}


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("ABC_DEF", "abc.def"),
        ("ABC__DEF", "abc_def"),
        ("ABC___DEF", "abc-def"),
        ("LISTENER_NAME_CLIENT__SSL_MAX_CONNECTIONS", "listener.name.client_ssl.max.connections"),
    ],
)
def test_underscores_are_dots_underscores_and_hyphens(variable: str, name: str) -> None:
    assert setting_name(variable) == name


def test_variables_lie_over_the_mounted_file_and_our_names_over_kafkas() -> None:
    settings = from_environment(
        {"KAFKA_B": "2", "KAFKA_C": "2", "KAFKAPY_C": "3"}, {"a": "1", "b": "1"}, ALONE
    )
    assert (settings["a"], settings["b"], settings["c"]) == ("1", "2", "3")


def test_what_a_jvm_or_kubernetes_is_told_is_no_setting() -> None:
    told = {
        "KAFKA_HEAP_OPTS": "-Xmx1G",
        "KAFKA_JMX_PORT": "9999",
        "KAFKAPY_LOG_FORMAT": "json",
        "KAFKA_PORT": "tcp://10.0.0.1:9092",
        "KAFKA_PORT_9092_TCP_ADDR": "10.0.0.1",
        "KAFKAPY_SERVICE_PORT_CLIENTS": "9092",
        "KAFKA_SERVICE_HOST": "10.0.0.1",
        "PATH": "/bin",
    }
    assert from_environment(told, {}, ALONE) == from_environment({}, {}, ALONE)


def test_a_value_is_read_as_a_line_of_server_properties_is() -> None:
    settings = from_environment({"KAFKA_X": 'a \\"b\\"', "KAFKA_Y": "a\n\\b"}, {}, ALONE)
    assert (settings["x"], settings["y"]) == ('a "b"', "a\n\\b")


def test_without_a_word_it_is_a_cluster_of_one_on_9092_with_its_data_in_the_volume() -> None:
    config = BrokerConfig(from_environment({}, {}, ALONE))
    assert [(one.host, one.port) for one in config.listening.broker] == [("", 9092)]
    assert ("PLAINTEXT", "localhost", 9092) in [one[:3] for one in config.listening.advertised]
    assert config.data_directories == (VOLUME,)


def test_listeners_come_from_what_is_advertised() -> None:
    told = {"KAFKA_ADVERTISED_LISTENERS": "A://kafka:19092,B://[::1]:9092",
            "KAFKA_PROCESS_ROLES": "broker"}  # fmt: skip
    settings = from_environment(told, {}, ALONE)
    assert settings["listeners"] == "A://0.0.0.0:19092,B://0.0.0.0:9092"


def test_keys_and_their_passwords_are_found_where_the_image_has_them(tmp_path: Path) -> None:
    (tmp_path / "creds").write_text("secret\n")
    told = {"KAFKA_SSL_KEYSTORE_FILENAME": "node.p12", "KAFKA_SSL_KEYSTORE_CREDENTIALS": "creds"}
    settings = from_environment(told, {}, ALONE, secrets=str(tmp_path))
    assert settings["ssl.keystore.location"] == f"{tmp_path}/node.p12"
    assert settings["ssl.keystore.password"] == "secret"
    assert not {"ssl.keystore.filename", "ssl.keystore.credentials"} & set(settings)


def test_a_node_without_roles_gets_a_controller_beside_the_listeners_it_is_told() -> None:
    for name in ("KAFKA_LISTENERS", "KAFKA_ADVERTISED_LISTENERS"):
        config = BrokerConfig(from_environment({name: "PLAINTEXT://127.0.0.1:19092"}, {}, ALONE))
        assert [one.port for one in config.listening.broker] == [19092]
        assert len(config.listening.controller) == 1


def test_nodes_of_a_cluster_that_has_no_id_take_the_one_of_apache_kafkas_image(
    tmp_path: Path,
) -> None:
    settings = from_environment({**CLUSTER, "KAFKA_LOG_DIRS": str(tmp_path)}, {}, ALONE)
    assert cluster_id_of({}, settings) == COMMON_CLUSTER_ID
    assert cluster_id_of({"CLUSTER_ID": "x"}, settings) == "x"
    (tmp_path / "meta.properties").touch()
    assert cluster_id_of({}, settings) is None, "whichever the data is of"


def test_a_cluster_of_one_founds_its_own() -> None:
    one = {"KAFKA_PROCESS_ROLES": "broker,controller",
           "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@broker:9093"}  # fmt: skip
    assert cluster_id_of({}, from_environment({}, {}, ALONE)) is None
    assert cluster_id_of({}, from_environment(one, {}, ALONE)) is None


def test_a_node_formats_its_volume_for_the_cluster_it_is_told(tmp_path: Path) -> None:
    """Serve until the line that it serves, and end it: another id is refused from then on."""
    variables = {
        "KAFKAPY_LISTENERS": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "KAFKA_LOG_DIRS": str(tmp_path / "data"),
        "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
        "KAFKAPY_LOG_FORMAT": "json",
    }
    with start(variables) as node:
        assert node.stdout is not None
        assert '"cluster_id": "4L6g3nShT-eMCtK--X86sw"' in node.stdout.readline()
        node.terminate()
        assert node.wait(30) == 0
    made = parse_meta_properties((tmp_path / "data/meta.properties").read_bytes())
    assert made.cluster_id == "4L6g3nShT-eMCtK--X86sw"
    with start({**variables, "CLUSTER_ID": COMMON_CLUSTER_ID}) as other:
        told = other.communicate(timeout=30)[1]
    assert other.returncode == 1
    assert "belongs to the cluster 4L6g3nShT-eMCtK--X86sw" in told


def start(variables: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "kafkapy", "serve", "--environment"],
        env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
