"""`kafkapy serve --test-api`: off unless asked for, loopback only, and gone on a signal."""

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from kafkapy.cli.main import main
from kafkapy.cli.node.serve import add_arguments, configured


def serve(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kafkapy", "serve", "--json", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
    )


def told(server: subprocess.Popen[str]) -> dict[str, Any]:
    assert server.stdout is not None
    line: dict[str, Any] = json.loads(server.stdout.readline())
    return line


def produce(url: str, value: str) -> None:
    data = json.dumps({"value": value}).encode()
    with urlopen(Request(f"{url}/topics/orders/records", data, method="POST"), timeout=20):
        pass


def records(url: str) -> list[str]:
    with urlopen(f"{url}/topics/orders/records", timeout=20) as answer:
        return [one["value"] for one in json.load(answer)]


def test_data_is_in_memory_unless_a_directory_is_named(tmp_path: Path) -> None:
    arguments = ["--listen", "127.0.0.1:0", "--test-api", "127.0.0.1:0"]
    with serve(*arguments, cwd=tmp_path) as server:
        serving = told(server)
        assert serving["data"] == "memory"
        produce(serving["test_api"], "1")
        assert records(serving["test_api"]) == ["1"]
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
    assert list(tmp_path.iterdir()) == []
    for _ in range(2):
        with serve(*arguments, "--data", "kept", cwd=tmp_path) as server:
            serving = told(server)
            produce(serving["test_api"], "2")
            seen = records(serving["test_api"])
            server.send_signal(signal.SIGINT)
            assert server.wait(30) == 0
    assert seen == ["2", "2"]


def test_it_is_off_unless_asked_for(tmp_path: Path) -> None:
    with serve("--listen", "127.0.0.1:0", "--data", "d", cwd=tmp_path) as server:
        assert "test_api" not in told(server)
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0


@pytest.mark.parametrize("address", ["0.0.0.0:0", "192.168.0.1:9099"])
def test_others_are_not_let_in(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--listen", "127.0.0.1:0", "--test-api", address]) == 1
    assert "listens on loopback addresses only" in capsys.readouterr().err


def test_serving_as_ever_is_configured_as_ever() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert parser.parse_args([]).test_api is None
    assert parser.parse_args(["--test-api"]).test_api == "127.0.0.1:9099"
    assert configured(parser.parse_args([])).group_initial_rebalance_delay_ms == 3000
