"""The network between three nodes and their clients, as a process that can be told to be bad.

    client or node --> door (the advertised port) --> link, from whom to whom --> the node's port

Each listener of a node has a door, which is open from when the node listens until its process
ends: a dead process refuses here as it would without us. Where it matters who came through a door,
it is read from /proc: the process that holds the other end of the socket is one of the nodes, or a
client.

    python -m compat_tests.chaos.proxy '[[1, 21001, 31001], ...]'     node, door, its port

Orders are lines of JSON on stdin, and each is answered with a line:

    {"pids": {"1": 4711, ...}}                 whose processes run now
    {"links": [[1, 2, "held", 0.0], ...]}      what is bad from whom to whom (0: all clients);
                                               the others are good
    {"cut": [[1, 2], ...]}                     their connections break, now

What is held arrives when the link is good again, as over a network that lost its packets: nobody
is told. A connection that is made meanwhile is accepted, and then silent.
"""

import json
import os
import struct
import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, Final

import trio

CLIENTS: Final = 0
Pass = Callable[[], Awaitable[None]]
GOOD, HELD, SLOW = "good", "held", "slow"

_LOOK_S: Final = 0.05
_CHUNK_BYTES: Final = 65536
_HERE: Final = "127.0.0.1"
# A close that is a reset: what is under way is lost.
_NO_LINGER: Final = struct.pack("ii", 1, 0)


class Link:
    """One direction between two parties."""

    def __init__(self) -> None:
        self._kind = GOOD
        self._delay_s = 0.0
        self._changed = trio.Event()

    def become(self, kind: str, delay_s: float) -> None:
        if (kind, delay_s) != (self._kind, self._delay_s):
            self._kind, self._delay_s = kind, delay_s
            self._changed.set()
            self._changed = trio.Event()

    async def passed(self) -> None:
        """What has come may go on."""
        if self._kind == SLOW:
            await trio.sleep(self._delay_s)
        while self._kind == HELD:
            await self._changed.wait()


class Connection:
    """`source` is who made it, once somebody wanted to know."""

    def __init__(self, node: int, come: trio.SocketStream) -> None:
        self.node = node
        self.come = come
        self.source: int | None = None
        self.ports = come.socket.getpeername()[1], come.socket.getsockname()[1]
        self.scope = trio.CancelScope()


class Proxy:
    def __init__(self, doors: list[tuple[int, int, int]], nursery: trio.Nursery) -> None:
        self._doors = doors
        self._nursery = nursery
        self._pids: dict[int, int] = {}
        self._ended: dict[int, trio.Event] = {}  # a process, and its doors are closed
        self._links: dict[tuple[int, int], Link] = {}
        self._is_all_good = True
        self._connections: set[Connection] = set()

    async def obey(self) -> None:
        orders = trio.lowlevel.FdStream(os.dup(sys.stdin.fileno()))
        pending = b""
        async for data in orders:
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                self._do(json.loads(line))
                print("done", flush=True)
        self._nursery.cancel_scope.cancel()

    def _do(self, order: dict[str, Any]) -> None:
        for node, pid in order.get("pids", {}).items():
            before = self._pids.get(int(node))
            if pid != before:
                self._pids[int(node)] = pid
                self._ended[pid] = trio.Event()
                self._nursery.start_soon(self._live, int(node), pid, self._ended.get(before or 0))
        if (bad := order.get("links")) is not None:
            self._identify(self._connections)
            self._is_all_good = not bad
            told = {(one, other): (kind, delay_s) for one, other, kind, delay_s in bad}
            for pair in self._links.keys() | told.keys():
                self._link(*pair).become(*told.get(pair, (GOOD, 0.0)))
        if pairs := order.get("cut"):
            self._identify(self._connections)
            for one, other in pairs:
                for connection in list(self._connections):
                    if {connection.source, connection.node} == {one, other}:
                        connection.scope.cancel()

    def _link(self, source: int, target: int) -> Link:
        return self._links.setdefault((source, target), Link())

    # -- doors

    async def _live(self, node: int, pid: int, before: trio.Event | None) -> None:
        """Its doors, as long as its process lives."""
        if before is not None:
            await before.wait()
        async with trio.open_nursery() as doors:
            for its_node, door, port in self._doors:
                if its_node == node:
                    doors.start_soon(self._door, node, door, port)
            with suppress(ProcessLookupError):
                fd = os.pidfd_open(pid)
                try:
                    await trio.lowlevel.wait_readable(fd)
                finally:
                    os.close(fd)
            doors.cancel_scope.cancel()
        self._ended[pid].set()

    async def _door(self, node: int, door: int, port: int) -> None:
        while True:
            with suppress(OSError):
                await (await trio.open_tcp_stream(_HERE, port)).aclose()
                break
            await trio.sleep(_LOOK_S)
        (listener,) = await trio.open_tcp_listeners(door, host=_HERE)
        async with listener:
            while True:
                with suppress(OSError):
                    come = await listener.accept()
                    self._nursery.start_soon(self._connection, Connection(node, come), port)

    # -- connections

    async def _connection(self, connection: Connection, port: int) -> None:
        come = connection.come
        self._connections.add(connection)
        try:
            with connection.scope, suppress(OSError):
                async with come:
                    await self._passed(connection, is_answer=False)
                    await self._passed(connection, is_answer=True)
                    async with await trio.open_tcp_stream(_HERE, port) as gone:
                        await self._forward(connection, gone)
        finally:
            self._connections.discard(connection)

    async def _forward(self, connection: Connection, gone: trio.SocketStream) -> None:
        """Until either side ends; then both do, without what was still under way."""
        come = connection.come
        async with trio.open_nursery() as both:
            there = partial(self._passed, connection, is_answer=False)
            back = partial(self._passed, connection, is_answer=True)
            both.start_soon(_pump, come, gone, there, both.cancel_scope)
            both.start_soon(_pump, gone, come, back, both.cancel_scope)
        for one in (come, gone):
            one.setsockopt(SOL_SOCKET, SO_LINGER, _NO_LINGER)

    async def _passed(self, connection: Connection, *, is_answer: bool) -> None:
        if self._is_all_good:
            return
        if connection.source is None:
            self._identify([connection])
        assert connection.source is not None
        pair = connection.source, connection.node
        await self._link(*(reversed(pair) if is_answer else pair)).passed()

    def _identify(self, connections: Iterable[Connection]) -> None:
        """Whose process has the other end; a client's, if no node's."""
        unknown = [one for one in connections if one.source is None]
        if unknown:
            inodes = _inodes()
            owners = {name: node for node, pid in self._pids.items() for name in _sockets(pid)}
            for one in unknown:
                one.source = owners.get(inodes.get(one.ports, ""), CLIENTS)


async def _pump(
    source: trio.SocketStream,
    target: trio.SocketStream,
    passed: Callable[[], Awaitable[None]],
    both: trio.CancelScope,
) -> None:
    with suppress(trio.BrokenResourceError):
        while data := await source.receive_some(_CHUNK_BYTES):
            await passed()
            await target.send_all(data)
        await passed()  # that it ended is not known before either
    both.cancel()


def _inodes() -> dict[tuple[int, int], str]:
    """The kernel's sockets by their local and remote port."""
    found = {}
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            row = line.split()
            found[_port(row[1]), _port(row[2])] = f"socket:[{row[9]}]"
    return found


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _sockets(pid: int) -> set[str]:
    found = set()
    with suppress(OSError):
        for one in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{one}"))
    return found


async def _main() -> None:
    doors = [tuple(one) for one in json.loads(sys.argv[1])]
    async with trio.open_nursery() as nursery:
        proxy = Proxy(doors, nursery)
        await proxy.obey()


if __name__ == "__main__":
    trio.run(_main)
