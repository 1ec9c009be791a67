"""HTTP beside the node: it comes and goes with it, and costs nothing where it is not wanted."""

import subprocess
import sys
from importlib import util

import pytest

from kafkapy.broker.config.table.values import ConfigError
from kafkapy.cli.main import main
from kafkapy.http import beside
from kafkapy.http.beside import Http
from kafkapy.server.sockets.binding import CannotListen
from kafkapy.server.sockets.listener import listen
from kafkapy.testing import Broker
from kafkapy.testing.node.settings import configured
from kafkapy.testing.node.shell import Heard
from tests.http.pages import HTTP, client_of, with_kafka


def test_a_node_without_http_imports_nothing_of_it() -> None:
    code = (
        "import sys, kafkapy.server.run, kafkapy.cli.node.serve; "
        "print([one for one in sys.modules if one.split('.')[0] in "
        "('starlette', 'hypercorn', 'h11', 'anyio', 'jinja2') or one.startswith('kafkapy.http')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("part", ["hypercorn", "jinja2", "msgpack"])
def test_without_its_parts_it_says_what_to_install(
    part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        beside, "find_spec", lambda name: None if name == part else util.find_spec(name)
    )
    assert main(["serve", "--http", "127.0.0.1:0", "--listen", "127.0.0.1:0"]) == 1
    assert f"HTTP needs {part}: pip install 'kafkapy[http]'" in capsys.readouterr().err


def test_an_address_that_is_taken_is_said_before_anything_is_written() -> None:
    taken = listen("127.0.0.1", 0, 1)
    port = taken.getsockname()[1]
    listeners = f"http://127.0.0.1:0,http://127.0.0.1:{port}"
    config = configured("/nowhere", "127.0.0.1:0", {"http.listeners": listeners})
    with taken, pytest.raises(CannotListen, match=f"127.0.0.1:{port} for HTTP"):
        Http(config, Heard())


def test_several_addresses_are_served() -> None:
    config = configured(
        "/nowhere", "127.0.0.1:0", {"http.listeners": "http://127.0.0.1:0,http://127.0.0.1:0"}
    )
    http = Http(config, Heard())
    assert len(set(http.addresses)) == 2
    http.close()


def test_https_without_a_certificate_is_refused() -> None:
    config = configured("/nowhere", "127.0.0.1:0", {"http.listeners": "https://127.0.0.1:0"})
    with pytest.raises(ConfigError, match="needs a certificate"):
        Http(config, Heard())


def test_a_node_comes_back_with_its_http() -> None:
    with Broker(HTTP) as broker:
        for _ in range(2):
            with client_of(broker) as client:
                assert client.get("/health/ready").status_code == 200
            broker.restart()


def test_a_node_that_was_killed_leaves_no_page_waiting() -> None:
    """Who asks its loop afterwards is told that it is gone."""
    with Broker(HTTP) as broker:
        http = broker._running().http
        assert http is not None
        broker.kill()
        broker.start()

        async def ask(kafka: object) -> None:
            from kafkapy.http.kafka.errors import KafkaError

            with pytest.raises(KafkaError, match="this node stops"):
                await http.link.call(lambda: None)

        with_kafka(broker, ask)
