"""One machine of a simulated cluster: its disk, its clock, its cable, and the node's lives on it.

    start --> node serves --> stop      a clean shutdown, then the process ends
                         \\-> kill      kill -9: the page cache survives, connections are reset
                         \\-> crash     the power goes: what was not flushed is lost or torn,
                         |              and nobody is told
                         \\-> pause     SIGSTOP: time passes, nothing runs; then `resume`

Everything that enters the process passes `run`, so that death and pauses have one place. What
kills it from within (a disk that says so at a counted change) ends this host, not the world.
"""

from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Final, cast

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.node.base import Fatal
from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.request import Peer
from kafkapy.core.network import ChannelOwner
from kafkapy.core.seams import Callback, Disk
from kafkapy.core.time import later
from kafkapy.core.turn import Turn
from kafkapy.sim.cluster.host_clock import HostClock
from kafkapy.sim.cluster.network import End, HostNetwork, SimNetwork
from kafkapy.sim.cluster.serving import Served
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import Interrupted, SimDisk
from kafkapy.sim.world.journal import RecordingJournal, Trace
from kafkapy.sim.world.power import DiskOfALife, Power
from kafkapy.sim.world.rng import SimRng

# (least, most) of the differences between the machines' clocks.
SKEW_MS: Final = 400
DRIFT_PPM: Final = 300


class Host:
    """`node` is None while none lives."""

    def __init__(
        self,
        node_id: int,
        settings: Mapping[str, str],
        *,
        clock: SimClock,
        network: SimNetwork,
        rng: SimRng,
        trace: Trace,
    ) -> None:
        self.node_id = node_id
        self.name = f"n{node_id}"
        self.settings = dict(settings)
        self.node: Node | None = None
        self.is_serving = False
        self.is_paused = False
        self.boots = 0
        self.disk_latency_ms = 0
        self.trace = trace
        self.power = Power(rng.fork(f"{self.name}/power"), trace)
        self.journal = RecordingJournal(trace, self.name)
        self._base = clock
        self._clock = HostClock(
            clock,
            skew_ms=rng.fork(f"{self.name}/skew").between(-SKEW_MS, SKEW_MS),
            drift_ppm=rng.fork(f"{self.name}/drift").between(-DRIFT_PPM, DRIFT_PPM),
        )
        self.disk = SimDisk(self._clock.wall, self._finish_later)
        self.disk.on_write = self.power
        self._net: HostNetwork = network.host(self.name)
        self._net.run = self.run
        self._node_rng = rng.fork(f"{self.name}/node")
        self._tears = rng.fork(f"{self.name}/tears")
        self._latency = rng.fork(f"{self.name}/latency")
        self._life = DiskOfALife(self.disk)
        self._backlog: deque[Callback] = deque()
        self._last_finish = clock.now()
        for directory in self.settings["log.dirs"].split(","):
            self.disk.make_directory(directory)
            self.disk.flush_directory(directory.rpartition("/")[0])
        self.disk.flush_directory("/")

    @property
    def is_alive(self) -> bool:
        return self.node is not None

    # Life and death.

    def start(self) -> None:
        assert self.node is None, (self.name, "one life at a time")
        self.boots += 1
        self._note("start", self.boots)
        self._net.machine_started()
        self.journal = RecordingJournal(self.trace, self.name)
        self._life = DiskOfALife(self.disk)
        clock = self._clock = self._clock.of_a_life(partial(self._run_of_life, self.boots))
        config = BrokerConfig(self.settings, takes_unbuilt=True)
        node = self.node = Node(
            config=config,
            disk=cast(Disk, self._life),
            clock=clock,
            rng=self._node_rng,
            journal=self.journal,
            bound_ports={},
            network=self._net,
            turn=Turn(),
            host=self.name,
        )
        node.on_fatal = self._gave_up
        if node.broker is not None:
            node.broker.hang_up = partial(self._hang_up, node)
        self._listen(node, is_controller=True)
        self.run(lambda: node.start(partial(self._serving, node)))

    def stop(self, then: Callback) -> None:
        """A clean shutdown; `then` when the process has ended."""
        node = self.node
        assert node is not None, (self.name, "nothing to stop")
        self._note("stop")

        def stopped() -> None:
            if self.node is node:
                self._gone()
                self.disk.kill()
                self._net.process_died()
                then()

        self.run(lambda: node.stop(stopped))

    def kill(self) -> None:
        """kill -9: nothing that was written is lost, but whoever wrote it is gone."""
        self._note("kill")
        self._gone()
        self.disk.kill()
        self._net.process_died()

    def crash(self) -> None:
        """The power goes."""
        self._note("crash")
        self._gone()
        self.disk.crash(self._tears)
        self._net.machine_died()

    def pause(self) -> None:
        self._note("pause")
        self.is_paused = True

    def resume(self) -> None:
        self._note("resume")
        self.is_paused = False
        while self._backlog and not self.is_paused:
            self.run(self._backlog.popleft())

    def _gave_up(self, failed: Fatal) -> None:
        """The node says itself that it must not go on, as when its process halts."""
        self._note("gave up", failed)
        self._gone()
        self.disk.kill()
        self._net.process_died()

    def _gone(self) -> None:
        self._life.is_over = True
        self.node = None
        self.is_serving = False
        self.is_paused = False
        self._backlog.clear()
        self._last_finish = self._base.now()
        self.power.restore()

    # What runs in the process.

    def run(self, then: Callback) -> None:
        """In the process that lives now, one thing at a time."""
        if self.node is None:
            return
        if self.is_paused:
            self._backlog.append(then)
            return
        try:
            then()
        except Interrupted:
            self._note("died")
            if self.node is not None:
                self.crash()

    def _run_of_life(self, boot: int, then: Callback) -> None:
        if boot == self.boots:
            self.run(then)

    def _finish_later(self, then: Callback) -> None:
        """Flushes end in the order they began, each after a while."""
        delay_ms = self._latency.below(self.disk_latency_ms + 1)
        self._last_finish = max(self._last_finish, later(self._base.now(), delay_ms))
        boot = self.boots
        self._base.call_at(self._last_finish, lambda: self._run_of_life(boot, then))

    # Who connects.

    def _serving(self, node: Node) -> None:
        if self.node is node:
            self.is_serving = True
            self._listen(node, is_controller=False)

    def _listen(self, node: Node, *, is_controller: bool) -> None:
        names = node.config.listening.controller_names
        for endpoint in node.config.endpoints:
            if (endpoint.name in names) is is_controller:
                accept = partial(self._accept, node, endpoint.name, is_controller)
                self._net.listen(endpoint.port, accept)

    def _accept(
        self, node: Node, listener: str, is_controller: bool, end: End, host: str
    ) -> ChannelOwner:
        return Served(node, end, Peer(listener, host, is_controller_listener=is_controller))

    def _hang_up(self, node: Node, then: Callback) -> None:
        names = node.config.listening.controller_names
        for endpoint in node.config.endpoints:
            if endpoint.name not in names:
                self._net.stop_listening(endpoint.port)
        node.clock.call_soon(then)

    def _note(self, what: str, *facts: object) -> None:
        self.trace.note(self.name, what, *facts)
