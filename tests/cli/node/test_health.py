"""`kafkapy health`: quiet where the node serves, one line where it does not."""

import socket

import pytest

from kafkapy.cli.main import main
from kafkapy.testing import Broker


def test_a_node_that_serves_is_healthy(capfd: pytest.CaptureFixture[str]) -> None:
    with Broker() as kafka:
        assert main(["health", "--listen", kafka.bootstrap]) == 0
    assert capfd.readouterr() == ("", "")


def test_where_another_node_answers_this_one_is_not_healthy(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with Broker() as kafka:
        told = ["--set", "node.id=77", "--set", "controller.quorum.voters="]
        assert main(["health", "--listen", kafka.bootstrap, *told]) == 1
    assert "node 77 is fenced, or another node answers there" in capfd.readouterr().err


def test_a_node_that_is_not_there_is_not_healthy(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
    assert main(["health", "--listen", where]) == 1
    assert where in capfd.readouterr().err


def test_a_listener_that_wants_more_is_asked_for_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        listeners = f"listeners=SASL_PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:0"
        plain = "listener.name.sasl_plaintext.plain.sasl.jaas.config="
        module = "org.apache.kafka.common.security.plain.PlainLoginModule required "
        told = [
            "--set", "inter.broker.listener.name=SASL_PLAINTEXT",
            "--set", "sasl.enabled.mechanisms=PLAIN",
            "--set", "sasl.mechanism.inter.broker.protocol=PLAIN",
            "--set", f'{plain}{module}username="a" password="b" user_a="b";',
        ]  # fmt: skip
        assert main(["health", "--set", listeners, *told]) == 0
    assert main(["health", "--set", listeners, *told]) == 1


def test_a_node_that_speaks_http_is_asked_there(capfd: pytest.CaptureFixture[str]) -> None:
    """Its Kafka listener is nowhere: nobody asks that."""
    nowhere = ["--listen", "127.0.0.1:1"]
    with Broker({"http.listeners": "http://127.0.0.1:0"}) as kafka:
        where = kafka.http
        told = [*nowhere, "--set", f"http.listeners={where}", "--timeout", "60"]
        assert main(["health", *told]) == 0
        assert capfd.readouterr() == ("", "")
        http = kafka._running().http
        assert http is not None
        http.link.is_serving = False
        assert main(["health", *told]) == 1
        assert "/health/ready says 503" in capfd.readouterr().err
        http.link.is_serving = True
    assert main(["health", *told]) == 1
    assert f"the node does not answer at {where}/health/live" in capfd.readouterr().err
