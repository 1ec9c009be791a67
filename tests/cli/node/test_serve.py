"""What `kafkapy serve` refuses before it opens anything, and how it says what ended it."""

import gc
import os
import shlex
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from kafkapy.cli.main import main
from kafkapy.core.errors import DiskFailed
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.server import run
from kafkapy.server.sockets.free_ports import free_ports

# Version 0, correlation id 1, no client id.
API_VERSIONS = struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, 1, -1)


def test_a_configuration_that_is_no_text_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "server.properties"
    config.write_bytes(b"\xff\xfe\x00")
    for command in ("serve", "format"):
        assert main([command, "--config", str(config)]) == 1
        told = capfd.readouterr().err
        assert "not a text file in UTF-8" in told
        assert told.count("\n") == 1


def test_data_is_one_directory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Kafka separates log.dirs by commas: the second would be where we happen to stand."""
    assert main(["serve", "--listen", "127.0.0.1:0", "--data", f"{tmp_path}/a,b"]) == 1
    assert "--set log.dirs=A,B" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_address_of_another_machine_is_not_said_to_be_in_use(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    assert main(["serve", "--listen", "192.0.2.1:9092", "--data", str(data)]) == 1
    told = capfd.readouterr().err
    assert "choose an address of this machine" in told
    assert "stop what uses it" not in told
    assert not data.exists()


def test_a_disk_that_fails_under_a_node_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It ends in a task of the node's, and so in a group."""

    async def serve(*_: object, beside: object) -> None:
        async def fail() -> None:
            raise DiskFailed("/data/t-0/0.log", "No space left on device")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)

    monkeypatch.setattr(run, "serve", serve)
    try:
        assert main(["serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")]) == 1
    finally:
        gc.enable()
    assert capfd.readouterr().err == "kafkapy: /data/t-0/0.log: No space left on device\n"


def test_a_listener_that_would_answer_in_plain_text_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its name is that of TLS, and whoever set it relies on that."""
    assert main(
        ["serve", "--data", str(tmp_path / "data"),
         "--set", "listeners=PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0"]
    ) == 1  # fmt: skip
    told = capfd.readouterr().err
    assert "listener.name.ssl.ssl.keystore.location" in told
    assert "needs a certificate and its key" in told
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("numbers", [(1,), (2,), (1, 2)])
@pytest.mark.parametrize("how", ["closed before", "nobody reads"])
def test_who_does_not_listen_is_served_all_the_same(
    tmp_path: Path, numbers: tuple[int, ...], how: str
) -> None:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "kafkapy", "serve", "--data", str(tmp_path / "data")]
    command += ["--listen", f"127.0.0.1:{port}"]
    reading, writing = os.pipe()
    os.close(reading)
    outlets = dict.fromkeys(numbers, writing)
    if how == "closed before":
        closed = "".join(f" {number}>&-" for number in numbers)
        command = ["/bin/sh", "-c", f"exec {shlex.join(command)}{closed}"]
    with subprocess.Popen(command, stdout=outlets.get(1), stderr=outlets.get(2)) as node:
        os.close(writing)
        wait_until_it_answers(node, port)
        node.terminate()
        assert node.wait(30) == 0


def wait_until_it_answers(node: "subprocess.Popen[bytes]", port: int) -> None:
    pause = threading.Event()
    while node.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(API_VERSIONS)
            if connection.recv(4):
                return
        pause.wait(0.02)
    raise AssertionError(f"it ended with {node.returncode}")
