"""Nodes behind real sockets: what they take from the operating system, and give back."""

import gc
import io
import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest
import trio

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.node.identity import CannotStart
from kafkapy.core.errors import DiskFailed
from kafkapy.log.names import CLEAN_SHUTDOWN_MARKER
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, request_head
from kafkapy.protocol.messages import encode_request
from kafkapy.server import run
from kafkapy.server.disk.open_files import most_for_connections, room_for_files
from kafkapy.server.journal import Lines
from kafkapy.server.sockets.binding import bind

ASK = frame(request_head(ApiKey.API_VERSIONS, 0, 1, "test"), encode_request(18, 0, {}))


@pytest.fixture
def collector() -> Iterator[None]:
    """`serve` owns its process, and so its collector; this process is pytest's."""
    yield
    gc.unfreeze()
    gc.enable()


@pytest.fixture
def config(tmp_path: Path) -> BrokerConfig:
    return BrokerConfig(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.listener.names": "CONTROLLER",
            "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
            "log.dirs": str(tmp_path / "data"),
        }
    )


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_directory_of_another_node_is_left_as_it_was(config: BrokerConfig) -> None:
    (data,) = map(Path, config.data_directories)
    data.mkdir()
    (data / "meta.properties").write_text("version=1\nnode.id=77\ncluster.id=elsewhere\n")
    with pytest.raises(ExceptionGroup) as group:
        trio.run(run.serve, config, Lines(io.StringIO()), lambda _: None)
    assert group.group_contains(CannotStart, match="77")
    assert [one.name for one in data.iterdir()] == ["meta.properties"]


class Client:
    """Connects when the node serves, and asks."""

    def __init__(self) -> None:
        self.sock = socket.socket()

    def connect(self, serving: run.Serving) -> None:
        host, _, port = serving.address.rpartition(":")
        self.sock.connect((host, int(port)))
        self.sock.sendall(ASK)

    def hears(self) -> bytes:
        self.sock.settimeout(5)
        try:
            return self.sock.recv(4)
        except ConnectionResetError:
            return b""


@pytest.mark.usefixtures("collector")
def test_a_node_that_stops_gives_everything_back(config: BrokerConfig) -> None:
    before = descriptors()

    async def main() -> None:
        stop = trio.Event()
        serving: list[run.Serving] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(
                lambda: run.serve(config, Lines(io.StringIO()), serving.append, stop=stop)
            )
            while not serving:
                await trio.lowlevel.checkpoint()
            client.connect(serving[0])
            assert await trio.to_thread.run_sync(client.hears) != b""
            stop.set()

    client = Client()
    with closing(client.sock):
        trio.run(main)
    gc.collect()
    assert descriptors() == before


@pytest.mark.usefixtures("collector")
def test_a_controller_alone_serves_its_listener_and_stops(tmp_path: Path) -> None:
    config = BrokerConfig(
        {
            "process.roles": "controller",
            "node.id": "1",
            "controller.listener.names": "CONTROLLER",
            "listeners": "CONTROLLER://127.0.0.1:0",
            "log.dirs": str(tmp_path / "data"),
        }
    )
    heard: list[bytes] = []

    async def main() -> None:
        stop = trio.Event()
        serving: list[run.Serving] = []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(partial(run.serve, config, Lines(out), serving.append, stop=stop))
            while not serving:
                await trio.lowlevel.checkpoint()
            client.connect(serving[0])
            heard.append(await trio.to_thread.run_sync(client.hears))
            stop.set()

    out = io.StringIO()
    client = Client()
    with closing(client.sock):
        trio.run(main)
    assert heard[0] != b""
    assert "stopped cleanly" in out.getvalue()


@pytest.mark.usefixtures("collector")
def test_controllers_are_reached_first_and_clients_until_the_broker_has_handed_over(
    config: BrokerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Voters must meet before one of them leads; at the end followers fetch what is left."""

    def listening(shell: run.Shell) -> list[str]:
        return [one.name for one in shell.listeners]

    async def ask(name: str) -> bytes:
        client = clients[name]
        client.sock.sendall(ASK)
        return await trio.to_thread.run_sync(client.hears)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            shell = run.Shell(config, Lines(io.StringIO()), sockets)
            nursery.start_soon(shell.clock.run)
            nursery.start_soon(shell.reactor.run)
            begun: list[Callable[[], None]] = []
            monkeypatch.setattr(shell.node, "start", begun.append)
            nursery.start_soon(shell.start)
            while not begun:
                await trio.lowlevel.checkpoint()
            assert listening(shell) == ["CONTROLLER"]
            clients["CONTROLLER"].sock.connect(addresses["CONTROLLER"])
            assert await ask("CONTROLLER") != b""
            begun[0]()
            while "PLAINTEXT" not in listening(shell):
                await trio.lowlevel.checkpoint()
            clients["PLAINTEXT"].sock.connect(addresses["PLAINTEXT"])
            begun.clear()
            monkeypatch.setattr(shell.node, "stop", begun.append)
            nursery.start_soon(shell.stop)
            while not begun:
                await trio.lowlevel.checkpoint()
            assert await ask("PLAINTEXT") != b""
            handed_over = trio.Event()
            assert shell.node.broker is not None
            shell.node.broker.hang_up(handed_over.set)
            await handed_over.wait()
            assert await rest_of("PLAINTEXT") == b""
            assert listening(shell) == ["CONTROLLER"]
            begun[0]()
            while shell.listeners:
                await trio.lowlevel.checkpoint()
            assert await rest_of("CONTROLLER") == b""
            nursery.cancel_scope.cancel()

    async def rest_of(name: str) -> bytes:
        """What there is until the connection is closed."""
        sock, rest = clients[name].sock, b""
        while rest := await trio.to_thread.run_sync(sock.recv, 1 << 16):
            pass
        return rest

    clients = {"CONTROLLER": Client(), "PLAINTEXT": Client()}
    with ExitStack() as closing_all:
        sockets = [(endpoint, bind(endpoint, config)) for endpoint in config.listening.all]
        addresses = {endpoint.name: sock.getsockname() for endpoint, sock in sockets}
        for owned in (*(sock for _, sock in sockets), *(one.sock for one in clients.values())):
            closing_all.callback(owned.close)
        trio.run(main)


@pytest.mark.usefixtures("collector")
def test_a_node_whose_loop_dies_hangs_up_on_its_clients(
    config: BrokerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug outside every handler ends the loop: nobody is left holding a dead socket."""

    def bug(*_: object) -> None:
        raise RuntimeError("bug")

    monkeypatch.setattr(run, "gate_of", lambda node, listener: lambda peer: bug)
    before = descriptors()
    client = Client()
    with closing(client.sock):
        with pytest.RaisesGroup(RuntimeError, flatten_subgroups=True):
            trio.run(run.serve, config, Lines(io.StringIO()), client.connect)
        assert client.hears() == b""
    gc.collect()
    assert descriptors() == before


@pytest.mark.parametrize(
    ("soft", "hard", "files", "raised_to", "warns"),
    [
        (1024, 1 << 19, 16384, 1 << 19, False),
        (1024, 1024, 512, None, True),
        (1024, 3000, 1500, 3000, True),
        (1024, resource.RLIM_INFINITY, 16384, 1 << 20, False),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 16384, None, False),
    ],
)
def test_the_limit_of_descriptors_is_raised_and_files_get_at_most_half(
    monkeypatch: pytest.MonkeyPatch,
    soft: int,
    hard: int,
    files: int,
    raised_to: int | None,
    warns: bool,
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    out = io.StringIO()
    assert room_for_files(Lines(out)) == files
    assert asked == ([] if raised_to is None else [(raised_to, hard)])
    assert ("few open files allowed" in out.getvalue()) is warns


def test_files_that_are_not_open_yet_have_their_descriptors_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1000, 5000))
    assert most_for_connections(500, 0) == 436
    assert most_for_connections(500, 400) == 836
    assert most_for_connections(500, 600) == 936


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("what", ["all", "contents", "metadata log"])
def test_a_node_whose_directory_was_removed_ends_with_what_became_of_it(
    config: BrokerConfig, what: str
) -> None:
    """It was a traceback: to stop is to save indexes, where there is no directory any more."""
    (data,) = map(Path, config.data_directories)
    journal = io.StringIO()

    async def main() -> None:
        stop = trio.Event()

        def remove(_: run.Serving) -> None:
            if what == "metadata log":
                shutil.rmtree(data / "__cluster_metadata-0")
            else:
                shutil.rmtree(data)
            if what == "contents":
                data.mkdir()
            stop.set()

        await run.serve(config, Lines(journal), remove, stop=stop)

    before = descriptors()
    failed = failure_of(main)
    if what == "metadata log":
        assert failed.path.startswith(f"{data}/__cluster_metadata-0/")
    else:
        assert str(failed) == (
            f"{data}: removed while the node was running; what was in it is lost"
        )
    assert "stopped cleanly" not in journal.getvalue()
    gc.collect()
    assert descriptors() == before


@pytest.mark.usefixtures("collector")
def test_a_node_with_another_directory_leaves_that_one_in_order(
    config: BrokerConfig, tmp_path: Path
) -> None:
    kept, removed = tmp_path / "kept", tmp_path / "removed"
    config = BrokerConfig({**config.static, "log.dirs": f"{kept},{removed}"})

    async def main() -> None:
        stop = trio.Event()

        def remove(_: run.Serving) -> None:
            shutil.rmtree(removed)
            stop.set()

        await run.serve(config, Lines(io.StringIO()), remove, stop=stop)

    assert failure_of(main).path == str(removed)
    assert (kept / CLEAN_SHUTDOWN_MARKER).exists()


def failure_of(main: Callable[[], Awaitable[None]]) -> DiskFailed:
    with pytest.RaisesGroup(DiskFailed, flatten_subgroups=True) as group:
        trio.run(main)
    failed: BaseException = group.value
    while isinstance(failed, BaseExceptionGroup):
        failed = failed.exceptions[0]
    assert isinstance(failed, DiskFailed)
    return failed


@pytest.mark.usefixtures("collector")
def test_max_connections_are_those_of_all_of_a_brokers_listeners(config: BrokerConfig) -> None:
    """Of a controller's as many again: clients cannot keep voters from one another."""
    config = BrokerConfig(
        {
            **config.static,
            "listeners": "PLAINTEXT://127.0.0.1:0,OTHER://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT,"
            "CONTROLLER:PLAINTEXT",
            "max.connections": "1",
        }
    )
    heard: dict[str, bytes] = {}

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            shell = run.Shell(config, Lines(io.StringIO()), sockets)
            nursery.start_soon(shell.clock.run)
            nursery.start_soon(shell.reactor.run)
            await shell.start()
            for name, client in clients.items():
                client.sock.connect(addresses[name])
                client.sock.sendall(ASK)
                heard[name] = await trio.to_thread.run_sync(client.hears)
            await shell.stop()
            nursery.cancel_scope.cancel()

    names = ("PLAINTEXT", "OTHER", "CONTROLLER")
    clients = {name: Client() for name in names}
    with ExitStack() as closing_all:
        sockets = [(endpoint, bind(endpoint, config)) for endpoint in config.listening.all]
        addresses = {endpoint.name: sock.getsockname() for endpoint, sock in sockets}
        for owned in (*(sock for _, sock in sockets), *(one.sock for one in clients.values())):
            closing_all.callback(owned.close)
        trio.run(main)
    assert [heard[name] != b"" for name in names] == [True, False, True]


def test_a_node_in_plain_text_loads_nothing_of_tls_or_sasl() -> None:
    """In a process of its own: others have spoken it in this one."""
    code = (
        "import sys\n"
        "from tests.broker.config.kafka import minimal\n"
        "from kafkapy.server import run\n"
        "assert run._tls(minimal(), None) is None\n"
        "print([one for one in sys.modules if one.startswith(('kafkapy.server.tls', "
        "'kafkapy.broker.config.security.listener_security', 'kafkapy.broker.security.sasl'))])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
