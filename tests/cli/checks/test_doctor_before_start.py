"""`kafkapy doctor` before a node is started: each test breaks the one thing that is found."""

import errno
import os
import socket
from pathlib import Path

import pytest

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.cli.checks.before_start import before_start
from kafkapy.cli.checks.findings import NAMES, Finding
from kafkapy.cli.checks.machine import Machine
from kafkapy.cli.main import main

ROOT = Path(__file__).resolve().parents[3]
GIGABYTE = 1 << 30


class Sound(Machine):
    """Nothing is wrong with this machine, whatever it is that the tests run on."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.names = {"127.0.0.1": ["127.0.0.1"], "localhost": ["127.0.0.1"]}
        self.own = {"127.0.0.1"}
        self.flush_s = 0.001
        self.free = 50 * GIGABYTE
        for name, text in {
            "proc/meminfo": "MemTotal:  8000000 kB\nSwapTotal:  1000 kB\n",
            "proc/sys/net/core/somaxconn": "4096\n",
            "proc/sys/vm/swappiness": "1\n",
        }.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = Path(self._root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def addresses(self, host: str) -> list[str]:
        return self.names.get(host, [])

    def is_own(self, address: str) -> bool:
        return address in self.own

    def open_files(self) -> int | None:
        return 1 << 20

    def fsync_seconds(self, path: str) -> list[float]:
        super().fsync_seconds(path)
        return [self.flush_s] * 20

    def space(self, path: str) -> tuple[int, int]:
        super().space(path)
        return 100 * GIGABYTE, self.free


@pytest.fixture
def machine(tmp_path: Path) -> Sound:
    return Sound(tmp_path / "root")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def settings(tmp_path: Path, **changed: str) -> dict[str, str]:
    port = free_port()
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:0",
        "controller.quorum.voters": "1@localhost:9093",
        "log.dirs": str(tmp_path / "data"),
        **{name.replace("_", "."): text for name, text in changed.items()},
    }


def found(
    machine: Machine, told: dict[str, str], cluster_id: str | None = None
) -> dict[str, Finding]:
    return {one.name: one for one in before_start(BrokerConfig(told), machine, cluster_id)}


def test_nothing_is_found_where_nothing_is_wrong(machine: Sound, tmp_path: Path) -> None:
    assert found(machine, settings(tmp_path)) == {}
    assert not (tmp_path / "data").exists(), "looking leaves nothing behind"


def test_every_finding_has_its_section_and_no_other_has() -> None:
    page = (ROOT / "docs/DOCTOR.md").read_text()
    sections = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert sections == list(NAMES)


def test_a_port_that_somebody_else_has(machine: Sound, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        told = settings(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://:0")
        assert f"127.0.0.1:{port}" in found(machine, told)["port-in-use"].what


def test_an_address_of_another_machine(machine: Sound, tmp_path: Path) -> None:
    told = settings(tmp_path, listeners="PLAINTEXT://192.0.2.1:9092,CONTROLLER://:0")
    assert os.strerror(errno.EADDRNOTAVAIL) in found(machine, told)["address-not-here"].what


def test_an_advertised_name_that_nobody_knows(machine: Sound, tmp_path: Path) -> None:
    told = settings(tmp_path, advertised_listeners="PLAINTEXT://no-such.invalid:9092")
    assert "no-such.invalid" in found(machine, told)["advertised-name-unknown"].what


def test_an_advertised_name_that_is_another_machine(machine: Sound, tmp_path: Path) -> None:
    machine.names["other"] = ["192.0.2.7"]
    told = settings(tmp_path, advertised_listeners="PLAINTEXT://other:9092")
    assert "192.0.2.7" in found(machine, told)["advertised-elsewhere"].what
    machine.own.add("192.0.2.7")
    assert found(machine, told) == {}


def test_brokers_that_are_told_of_localhost(machine: Sound, tmp_path: Path) -> None:
    """For one node alone that is fine: its clients are beside it."""
    machine.names["b"] = machine.names["c"] = ["127.0.0.1"]
    voters = f"1@localhost:9093,2@b:{free_port()},3@c:{free_port()}"
    told = settings(tmp_path, controller_quorum_voters=voters)
    assert "127.0.0.1" in found(machine, told)["advertised-loopback"].what


def test_a_quorum_of_which_too_few_are_there(machine: Sound, tmp_path: Path) -> None:
    machine.names["b"] = machine.names["c"] = ["127.0.0.1"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        there, gone = server.getsockname()[1], free_port()
        voters = f"1@localhost:9093,2@127.0.0.1:{gone},3@127.0.0.1:{gone}"
        told = settings(tmp_path, controller_quorum_voters=voters)
        assert "1 of 3" in found(machine, told)["no-majority"].what
        voters = f"1@localhost:9093,2@127.0.0.1:{there},3@127.0.0.1:{gone}"
        told = settings(tmp_path, controller_quorum_voters=voters)
        assert "no-majority" not in found(machine, told)


def test_a_voter_whose_name_nobody_knows_and_an_even_number(machine: Sound, tmp_path: Path) -> None:
    voters = f"1@localhost:9093,2@no-such.invalid:{free_port()}"
    told = found(machine, settings(tmp_path, controller_quorum_voters=voters))
    assert "no-such.invalid" in told["voter-name-unknown"].what
    assert "even-quorum" in told


def test_directories_of_another_cluster(machine: Sound, tmp_path: Path) -> None:
    formatted = ["--data", str(tmp_path / "data"), "--cluster-id", "q1Sh-9_ISia_zwGINzRvyQ"]
    assert main(["format", *formatted]) == 0
    told = settings(tmp_path)
    assert found(machine, told, "q1Sh-9_ISia_zwGINzRvyQ") == {}
    differs = found(machine, told, "4L6g3nShT-eMCtK--X86sw")["cluster-id-differs"]
    assert "q1Sh-9_ISia_zwGINzRvyQ" in differs.what


def test_a_directory_that_cannot_be_written(machine: Sound, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to("/proc/self")
    told = settings(tmp_path)
    assert found(machine, told)["directory-unusable"].about == str(tmp_path / "data")


def test_a_disk_that_is_nearly_full(machine: Sound, tmp_path: Path) -> None:
    machine.free = 9 * GIGABYTE
    assert "9.0 of 100.0 GB" in found(machine, settings(tmp_path))["disk-nearly-full"].what


def test_a_disk_whose_flushes_take_long(machine: Sound, tmp_path: Path) -> None:
    machine.flush_s = 0.07
    assert "70 ms" in found(machine, settings(tmp_path))["fsync-slow"].what


def test_a_flush_is_measured_with_a_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(os, "fsync", lambda _: now.__setitem__(0, now[0] + 0.5))
    assert Machine().fsync_seconds(str(tmp_path)) == [0.5] * 20
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "text", "finding"),
    [
        ("proc/sys/net/core/somaxconn", "128\n", "short-backlog"),
        ("proc/sys/vm/swappiness", "60\n", "eager-swap"),
        ("proc/meminfo", "MemTotal: 200000 kB\n", "little-memory"),
        ("sys/fs/cgroup/memory.max", "134217728\n", "little-memory"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n", "little-memory"),
    ],
)
def test_limits_of_the_machine(
    machine: Sound, tmp_path: Path, name: str, text: str, finding: str
) -> None:
    machine.write(name, text)
    assert list(found(machine, settings(tmp_path))) == [finding]


def test_few_open_files(machine: Sound, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (1024, 4096))
    monkeypatch.setattr(Sound, "open_files", Machine.open_files)
    assert "4096" in found(machine, settings(tmp_path))["few-open-files"].what


def test_a_setting_that_cannot_be(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=many\n")
    assert main(["doctor", "--config", str(file)]) == 1
    told = capfd.readouterr().out
    assert "num.partitions" in told
    assert "(configuration-refused)" in told
