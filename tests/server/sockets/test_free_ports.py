"""Ports for nodes that do not listen yet."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kafkapy.server.sockets import free_ports as module
from kafkapy.server.sockets.free_ports import Reserved, free_ports

_IN_ANOTHER_PROCESS = """
import sys
from pathlib import Path
from kafkapy.server.sockets.free_ports import Reserved
print(Reserved(Path(sys.argv[1])).reserve(int(sys.argv[2])))
"""


def test_no_port_is_given_twice_although_nobody_listens() -> None:
    first, second = free_ports(50), free_ports(50)
    assert len({*first, *second}) == 100


def test_a_port_in_use_is_not_given() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert server.getsockname()[1] not in free_ports(20)


def test_what_a_process_was_given_no_other_one_is(tmp_path: Path) -> None:
    """Until it is released, or its process ends."""
    ours = Reserved(tmp_path / "ports")
    assert ours.reserve(20_000)
    assert not _another_may_have(tmp_path / "ports", 20_000)
    assert _another_may_have(tmp_path / "ports", 20_001)
    ours.release(20_000)
    assert _another_may_have(tmp_path / "ports", 20_000)
    assert ours.reserve(20_000), "the other process has ended"


def test_a_process_may_have_all_its_ports_again(tmp_path: Path) -> None:
    ours = Reserved(tmp_path / "ports")
    assert all(ours.reserve(port) for port in range(20_000, 20_100))
    assert not ours.reserve(20_000)
    ours.release_all()
    assert ours.reserve(20_000)


def test_a_process_that_has_had_all_ports_is_given_each_once_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last ports that it never had, and for the rest some of before: none of them twice, and
    none that another process could be given."""
    ours = Reserved(tmp_path / "ports")
    monkeypatch.setattr(module, "_reserved", lambda: ours)
    monkeypatch.setattr(module, "_is_free", lambda port: True)
    monkeypatch.setattr(module, "_FROM", 20_000)
    monkeypatch.setattr(module, "_TO", 20_005)
    for _ in range(30):
        given = free_ports(4)
        assert len(set(given)) == 4
    assert not any(_another_may_have(tmp_path / "ports", port) for port in given)


def _another_may_have(path: Path, port: int) -> bool:
    command = [sys.executable, "-c", _IN_ANOTHER_PROCESS, str(path), str(port)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"
