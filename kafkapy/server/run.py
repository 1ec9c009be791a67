"""A node behind real sockets: bind, start, serve, shut down.

bind every listener      a port in use is said before anything is written
lock the directories     nobody else works on them
accept as a controller   before there is one: voters must reach each other to elect it, and
                         a broker that starts may have to wait for exactly that
start the node           its roles, each as far as it gets (broker/node/)
accept as a broker       only now: whoever connects is served
told to stop             nobody is cut off yet: a broker that hands over answers its clients,
                         and its followers fetch the rest
handed over              clients are let go, with the answers they waited for; logs are flushed
stopped                  the controller's connections go last, and our own to other nodes:
                         whatever the others still had to hear or say came through them
"""

import gc
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import trio

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import Endpoint
from kafkapy.broker.node.identity import CannotStart
from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.counting import Encode, RequestCounts
from kafkapy.broker.requests.dispatch import encode_or_hang_up
from kafkapy.broker.requests.request import Peer
from kafkapy.broker.security.gates import Dispatch, first_frame_bytes, gate_of
from kafkapy.core.addresses import shown
from kafkapy.core.errors import DiskFailed
from kafkapy.core.network import Network
from kafkapy.core.seams import Callback, Journal
from kafkapy.core.turn import Turn
from kafkapy.hooks.source import HookSource
from kafkapy.kraft.storage.adoption import make_directory
from kafkapy.kraft.storage.meta_properties import META_PROPERTIES
from kafkapy.server.clock import LoopClock
from kafkapy.server.disk.open_files import most_for_connections, room_for_files
from kafkapy.server.disk.real_disk import DirectoryLocked, OwnedDisk, RealDisk
from kafkapy.server.disk.threads import Threads
from kafkapy.server.hooks import InstalledHooks
from kafkapy.server.journal import Remembering
from kafkapy.server.rng import SystemRng
from kafkapy.server.sockets.binding import bind, own_name
from kafkapy.server.sockets.listener import Listener
from kafkapy.server.sockets.lookups import Lookups
from kafkapy.server.sockets.network import SocketNetwork
from kafkapy.server.sockets.reactor import CountingReactor, make_reactor
from kafkapy.server.sockets.room import Room
from kafkapy.server.sockets.time_slices import ask_for_short_slices
from kafkapy.server.sockets.turn_counts import TurnCounts
from kafkapy.server.warming import warm_up

if TYPE_CHECKING:
    from ssl import SSLContext

    from kafkapy.broker.security.fetching import Fetched, FetchRequest
    from kafkapy.server.tls.contexts import Tls

# A clean shutdown that takes longer than this is given up: the next start recovers.
SHUTDOWN_SECONDS: Final = 20.0
_IDLE_CHECK_SECONDS: Final = 30.0
_SECURED_CHECK_SECONDS: Final = 5.0
_REMOVED: Final = "removed while the node was running; what was in it is lost"


@dataclass(frozen=True, slots=True)
class Serving:
    """What the one line at start-up tells."""

    address: str
    node_id: int
    cluster_id: str
    data: str


class Beside(Protocol):
    """What runs beside the node on a thread of its own, as HTTP does (kafkapy/http)."""

    def start(self, shell: "Shell") -> None: ...

    def serving(self) -> None:
        """The node serves from now on."""

    def broke(self, reason: str) -> None:
        """What was answered in this turn was not written, and must not be told."""

    def stop(self, then: Callback) -> None:
        """`then` on the loop, within a bounded time: nobody asks the node any more."""

    def close(self) -> None:
        """At once; any number of times."""


async def serve(
    config: BrokerConfig,
    journal: Journal,
    told: Callable[[Serving], None],
    *,
    stop: trio.Event | None = None,
    beside: Beside | None = None,
) -> None:
    """Serve until SIGTERM, SIGINT or `stop`."""
    ask_for_short_slices()
    sockets = [(endpoint, bind(endpoint, config)) for endpoint in config.listening.all]
    try:
        async with trio.open_nursery() as nursery:
            shell = Shell(config, journal, sockets)
            nursery.start_soon(shell.clock.run)
            nursery.start_soon(shell.reactor.run)
            if beside is not None:
                shell.put_beside(beside)
            if stop is None:
                stop = trio.Event()
                await nursery.start(_hear_signals, stop)
            try:
                with trio.CancelScope() as starting:
                    nursery.start_soon(_cancel_when, stop, starting)
                    await shell.start()
                # What lives now lives for ever: the collector need not look at it. (Looking
                # at it once more would hold up the first request.)
                gc.freeze()
                gc.enable()
                warm_up(shell.clock)
                nursery.start_soon(shell.close_idle_connections)
                if shell.is_secured:
                    nursery.start_soon(shell.look_after_secured)
                if shell.is_serving:
                    told(shell.serving())
                await stop.wait()
                await shell.stop()
            finally:
                shell.release()
            nursery.cancel_scope.cancel()
    finally:
        if beside is not None:
            beside.close()
        for _, sock in sockets:
            sock.close()


async def _hear_signals(
    stop: trio.Event, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """From the beginning: a node may wait long for the others, and must end when told to."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            stop.set()


async def _cancel_when(told: trio.Event, scope: trio.CancelScope) -> None:
    await told.wait()
    scope.cancel()


class Shell:
    """The pieces of a running node: loop, disk, listeners and the node itself."""

    def __init__(
        self,
        config: BrokerConfig,
        journal: Journal,
        sockets: list[tuple[Endpoint, socket.socket]],
        clock: LoopClock | None = None,
    ) -> None:
        self.clock = LoopClock() if clock is None else clock
        self.turn = self._turn = Turn()
        self._turn.failed = self._disk_failed
        self.listeners: list[Listener] = []
        self.is_serving = False
        self._beside: Beside | None = None
        # By listener, where there is somebody beside the node who looks at them.
        self.counts: dict[str, RequestCounts] = {}
        self._config = config
        self._most_files = 0  # that may be open; a disk in memory has none
        # Kept for the pages of who looks; nobody else could read it again.
        self.journal = Remembering(journal) if config.http_listeners else journal
        journal = self._journal = self.journal
        self._sockets = sockets
        self._tls = _tls(config, journal)
        self.reactor: CountingReactor = make_reactor(self._turn, self.clock)
        self._threads = Threads(self.reactor.run_soon)
        self._network = SocketNetwork(
            self.reactor,
            Lookups(self.reactor.run_soon).run,
            max_frame_bytes=config.socket_request_max_bytes,
            client_tls=self._client_tls,
        )
        try:
            self._disk = self._make_disk()
            self._new_lock_files: list[str] = []
            self._locks = self._lock_directories()
            self.node = self._make_node()
        except BaseException:
            self.reactor.close()
            raise

    def _make_node(self) -> Node:
        ports = {endpoint.name: sock.getsockname()[1] for endpoint, sock in self._sockets}
        try:
            node = Node(
                config=self._config,
                disk=self._disk,
                clock=self.clock,
                rng=SystemRng(),
                journal=self._journal,
                bound_ports=ports,
                host=own_name(self._config),
                network=self._network_of_node(),
                turn=self._turn,
                fetch=self._fetch,
                hooks=self._hooks(),
            )
        except CannotStart:
            self._leave_no_trace()
            raise
        if node.broker is not None:
            node.broker.hang_up = self._hang_up
        return node

    def _hooks(self) -> HookSource:
        return InstalledHooks(self._config.kafkapy_hooks, self._journal)

    def _fetch(self, request: "FetchRequest", then: "Fetched") -> None:
        from kafkapy.server.web import Web

        Web(self.reactor.run_soon).fetch(request, then)

    def _network_of_node(self) -> Network:
        return self._network

    def _make_disk(self) -> OwnedDisk:
        files = self._most_files = room_for_files(self._journal)
        return RealDisk(self._threads.run, files, self._turn)

    def _most_for_connections(self) -> int:
        open_files = self._disk.open_file_count if isinstance(self._disk, RealDisk) else 0
        return most_for_connections(self._most_files, open_files)

    def _lock_directories(self) -> list[Callable[[], None]]:
        """Before anything is read or written: nobody else works on these directories."""
        paths = [self._config.metadata_directory, *self._config.data_directories]
        locks: list[Callable[[], None]] = []
        try:
            for path in dict.fromkeys(paths):
                make_directory(self._disk, path)
                lock_file = f"{path}/.lock"
                if not self._disk.exists(lock_file):
                    self._new_lock_files.append(lock_file)
                locks.append(self._disk.lock(path))
        except DirectoryLocked as locked:
            for unlock in locks:
                unlock()
            raise CannotStart(
                f"{locked.path.rpartition('/')[0]} is in use by another Kafka server; "
                "stop that one, or choose another directory with --data DIR"
            ) from None
        return locks

    def _leave_no_trace(self) -> None:
        """In a directory that is not for this node."""
        for lock_file in self._new_lock_files:
            self._disk.remove(lock_file)
        for unlock in self._locks:
            unlock()

    def put_beside(self, beside: Beside) -> None:
        """Before `start`: how a node that waits for others is, may be asked meanwhile."""
        self._beside = beside
        self.counts = {one.name: RequestCounts(time.perf_counter) for one, _ in self._sockets}
        self.reactor.counts = TurnCounts()
        beside.start(self)

    async def start(self) -> None:
        """Return once the node serves, for which others may have to be there; raises what kept
        it from serving."""
        self._accept(is_controller=True)
        started = trio.Event()
        self.node.start(started.set)
        await started.wait()
        self._accept(is_controller=False)
        self.is_serving = True
        if self._beside is not None:
            self._beside.serving()

    def _accept(self, *, is_controller: bool) -> None:
        """On the listeners of one of the roles."""
        config = self._config
        room = Room(config)
        if self._most_files and not is_controller:
            room.most_descriptors = self._most_for_connections
        for endpoint, sock in self._sockets:
            if (endpoint.name in config.listening.controller_names) is not is_controller:
                continue
            listener = Listener(
                endpoint.name,
                sock,
                self.reactor,
                self._counted_gate_of(endpoint.name),
                self._counted_encode(endpoint.name),
                self._journal,
                is_controller=is_controller,
                max_frame_bytes=first_frame_bytes(self.node, endpoint.name),
                room=room,
                door=self.node.door,
                asks_who=endpoint.protocol.has_sasl,
                tls=None if self._tls is None else self._tls.of(endpoint.name),
            )
            self.listeners.append(listener)

    def _counted_gate_of(self, listener: str) -> Callable[[Peer], Dispatch]:
        gate, counts = self._gate_of(listener), self.counts.get(listener)
        return gate if counts is None else lambda peer: counts.dispatch(gate(peer))

    def _counted_encode(self, listener: str) -> Encode:
        counts = self.counts.get(listener)
        encode = partial(encode_or_hang_up, self._journal)
        return encode if counts is None else counts.encode(encode)

    def _client_tls(self, listener: str) -> "SSLContext | None":
        tls = None if self._tls is None else self._tls.of(listener)
        return None if tls is None else tls.client

    def _gate_of(self, listener: str) -> Callable[[Peer], Dispatch]:
        return gate_of(self.node, listener)

    def serving(self) -> Serving:
        """A broker's clients are told of its first listener; who has none is a controller."""
        first = min(self.listeners, key=lambda one: one.is_controller)
        host, port = first.address
        return Serving(
            shown(host, port),
            self.node.node_id,
            self.node.cluster_id,
            ",".join(self._config.data_directories),
        )

    @property
    def is_secured(self) -> bool:
        protocols = {one.protocol for one, _ in self._sockets}
        return any(one.has_sasl or one.has_tls for one in protocols)

    async def close_idle_connections(self) -> None:
        """connections.max.idle.ms, looked at now and then, for ever."""
        while True:
            await trio.sleep(_IDLE_CHECK_SECONDS)
            idle_ms = self._config.connections_max_idle_ms
            if idle_ms >= 0:
                for listener in self.listeners:
                    listener.close_idle(idle_ms / 1000)

    async def look_after_secured(self) -> None:
        """Certificates whose files were replaced, and who does not say who it is; for ever."""
        while True:
            await trio.sleep(_SECURED_CHECK_SECONDS)
            if self._tls:
                self._tls.refresh()
            for listener in self.listeners:
                listener.close_unsettled()

    def _disk_failed(self, failed: DiskFailed) -> None:
        """What a turn appended could not be written, and its answers did not leave: nobody may
        wait for them. Clients come again and ask once more."""
        self.node.directory_failed(failed)
        count = sum(len(listener.connections) for listener in self.listeners)
        for listener in self.listeners:
            listener.close_connections()
        self._network.break_all("what a frame spoke of could not be written")
        if self._beside is not None:
            self._beside.broke("what was answered could not be written")
        if count:
            reason = "answers on their way promised what could not be written"
            self._journal.warning("connections closed", count=count, reason=reason)

    def close_connections(self) -> None:
        """Accept no more, and let go of who is connected; once is enough."""
        listeners, self.listeners = self.listeners, []
        for listener in listeners:
            listener.close()

    def _hang_up(self, then: Callback) -> None:
        """On the broker's clients, once the answers that are on their way have left."""

        def now() -> None:
            for listener in [one for one in self.listeners if not one.is_controller]:
                self.listeners.remove(listener)
                listener.close()
            then()

        self.clock.call_soon(now)

    async def stop(self) -> None:
        """Within a bounded time; what is not flushed by then is recovered at the next start.
        DiskFailed if a directory was removed under the node, or could not be left in order."""
        removed = self._give_up_removed_directories()
        stopped = trio.Event()
        with trio.move_on_after(SHUTDOWN_SECONDS):
            if self._beside is not None:
                left = trio.Event()
                self._beside.stop(left.set)
                await left.wait()
            self.node.stop(stopped.set)
            await stopped.wait()
        if not stopped.is_set():
            self._journal.warning("shutdown not clean", reason=f"not done in {SHUTDOWN_SECONDS} s")
        if failed := [*removed, *self.node.not_closed]:
            raise failed[0]
        if stopped.is_set():
            self._journal.info("stopped cleanly")
        self.release()

    def _give_up_removed_directories(self) -> list[DiskFailed]:
        """Those that were this node's and are no more, other than by failing before."""
        config, broker = self._config, self.node.broker
        if self._is_removed(config.metadata_directory):
            # Without its metadata log it cannot leave anything in order.
            raise DiskFailed(config.metadata_directory, _REMOVED)
        if broker is None:
            return []
        removed = [
            DiskFailed(path, _REMOVED)
            for path in config.data_directories
            if not broker.logs.is_directory_offline(path) and self._is_removed(path)
        ]
        for one in removed:
            self.node.directory_failed(one)
        return removed

    def _is_removed(self, path: str) -> bool:
        return not self._disk.exists(f"{path}/{META_PROPERTIES}")

    def release(self) -> None:
        """Whatever the operating system holds for this node; any number of times."""
        if self._beside is not None:
            self._beside.close()
        self.close_connections()
        self._network.close()
        if isinstance(self._disk, RealDisk):
            self._disk.hurry()
        self._threads.close()
        if isinstance(self._disk, RealDisk):
            self._disk.close()
        for unlock in self._locks:
            unlock()


def _tls(config: BrokerConfig, journal: Journal) -> "Tls | None":
    """Nothing of it is imported where nobody speaks it."""
    if not any(one.has_tls for one in config.listening.spoken):
        return None
    from kafkapy.server.tls.contexts import Tls

    return Tls(config, journal)
