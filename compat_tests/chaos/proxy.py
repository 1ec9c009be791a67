"""The network between three nodes and their clients, as a process that can be told to be bad.

    client or node --> door (the advertised port) --> link, from whom to whom --> the node's port

Each listener of a node has a door, which is open as long as the node itself listens: a dead
process refuses here as it would without us. Who comes through a door is read from /proc: the
process that holds the other end of the socket is one of the nodes, or a client.

    python -m compat_tests.chaos.proxy '[[1, 21001, 31001], ...]'     node, door, its port

Orders are lines of JSON on stdin, and each is answered with a line:

    {"pids": {"1": 4711, ...}}                 who the nodes are now
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
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, Final

import trio

CLIENTS: Final = 0
GOOD, HELD, SLOW = "good", "held", "slow"

_LOOK_S: Final = 0.02
_CHUNK_BYTES: Final = 65536
# In the kernel's table.
_LISTENS: Final = "0A"
_NOBODY: Final = ("00000000:0000", "00000000000000000000000000000000:0000")
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


class Proxy:
    def __init__(self, doors: list[tuple[int, int, int]], nursery: trio.Nursery) -> None:
        self._doors = doors
        self._nursery = nursery
        self._pids: dict[int, int] = {}
        self._links: dict[tuple[int, int], Link] = {}
        self._connections: dict[trio.CancelScope, tuple[int, int]] = {}

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
        if (pids := order.get("pids")) is not None:
            self._pids = {int(node): pid for node, pid in pids.items()}
        if (bad := order.get("links")) is not None:
            told = {(one, other): (kind, delay_s) for one, other, kind, delay_s in bad}
            for pair in self._links.keys() | told.keys():
                self._link(*pair).become(*told.get(pair, (GOOD, 0.0)))
        for one, other in order.get("cut", ()):
            for scope, parties in list(self._connections.items()):
                if set(parties) == {one, other}:
                    scope.cancel()

    def _link(self, source: int, target: int) -> Link:
        return self._links.setdefault((source, target), Link())

    async def watch(self) -> None:
        """Doors are open while their nodes listen."""
        opened: dict[int, trio.CancelScope] = {}
        while True:
            sockets = _sockets()
            for node, door, port in self._doors:
                is_listening = any(
                    f":{port:04X} {nobody} {_LISTENS}" in sockets for nobody in _NOBODY
                )
                if is_listening and door not in opened:
                    opened[door] = await self._nursery.start(self._serve, node, door, port)
                elif not is_listening and door in opened:
                    opened.pop(door).cancel()
            await trio.sleep(_LOOK_S)

    async def _serve(
        self,
        node: int,
        door: int,
        port: int,
        task_status: "trio.TaskStatus[trio.CancelScope]" = trio.TASK_STATUS_IGNORED,
    ) -> None:
        with trio.CancelScope() as scope:
            (listener,) = await trio.open_tcp_listeners(door, host=_HERE)
            task_status.started(scope)
            async with listener:
                while True:
                    come = await listener.accept()
                    self._nursery.start_soon(self._connection, come, node, door, port)

    async def _connection(self, come: trio.SocketStream, node: int, door: int, port: int) -> None:
        source = self._owner(come.socket.getpeername()[1], door)
        there, back = self._link(source, node), self._link(node, source)
        with trio.CancelScope() as scope, suppress(OSError):
            self._connections[scope] = source, node
            try:
                async with come:
                    await there.passed()
                    await back.passed()
                    async with await trio.open_tcp_stream(_HERE, port) as gone:
                        await self._forward(come, gone, there, back)
            finally:
                del self._connections[scope]

    async def _forward(
        self, come: trio.SocketStream, gone: trio.SocketStream, there: Link, back: Link
    ) -> None:
        """Until either side ends; then both do, without what was still under way."""
        async with trio.open_nursery() as both:
            both.start_soon(partial(_pump, come, gone, there, both.cancel_scope))
            both.start_soon(partial(_pump, gone, come, back, both.cancel_scope))
        for one in (come, gone):
            one.setsockopt(SOL_SOCKET, SO_LINGER, _NO_LINGER)

    def _owner(self, port: int, door: int) -> int:
        """Which node's process has the other end; a client's, if none."""
        socket_of = f"socket:[{_inode(port, door)}]"
        for node, pid in self._pids.items():
            if socket_of in _descriptors(pid):
                return node
        return CLIENTS


async def _pump(
    source: trio.SocketStream, target: trio.SocketStream, link: Link, both: trio.CancelScope
) -> None:
    with suppress(trio.BrokenResourceError):
        while data := await source.receive_some(_CHUNK_BYTES):
            await link.passed()
            await target.send_all(data)
        await link.passed()  # that it ended is not known before either
    both.cancel()


def _sockets() -> str:
    """The kernel's table of TCP sockets: local and remote address, state, ..., inode."""
    return "".join(Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))


def _inode(local: int, remote: int) -> str:
    for line in _sockets().splitlines():
        row = line.split()
        if row[1].endswith(f":{local:04X}") and row[2].endswith(f":{remote:04X}"):
            return row[9]
    return ""


def _descriptors(pid: int) -> set[str]:
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
        nursery.start_soon(proxy.watch)
        await proxy.obey()


if __name__ == "__main__":
    trio.run(_main)
