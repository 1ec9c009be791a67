"""One machine of a simulated cluster: its disk, its clock, its cable, and the node's lives on it.

    start --> node serves --> stop      a clean shutdown, then the process ends
                         \\-> kill      kill -9: the page cache survives, connections are reset
                         \\-> crash     the power goes: what was not flushed is lost or torn,
                         |              and nobody is told
                         \\-> pause     SIGSTOP: time passes, nothing runs; then `resume`

Everything that enters the process passes `run`, so that death and pauses have one place. What
kills it from within (a disk or an answer that says so at a counted change) ends this host, not
the world.

What comes from the network and from the disk's threads is served in turns, timers and jobs
between them, as in the real shell (core/turn.py): what is sent in a turn leaves at its end, after
the one write, and is judged then (sim/promises/answers.py).
"""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, cast

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.node.base import Fatal
from kafkapy.broker.node.identity import CannotStart
from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.request import Peer
from kafkapy.core.errors import DiskFailed
from kafkapy.core.network import ChannelOwner
from kafkapy.core.seams import Callback, Disk
from kafkapy.core.time import later
from kafkapy.sim.cluster.host_clock import HostClock
from kafkapy.sim.cluster.network import End, HostNetwork, SimNetwork
from kafkapy.sim.cluster.serving import Served
from kafkapy.sim.promises.answers import AnswersPromise, Promised
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.file import Interrupted
from kafkapy.sim.world.journal import Line, RecordingJournal, Trace
from kafkapy.sim.world.power import DiskOfALife, Power
from kafkapy.sim.world.reactor import SimReactor
from kafkapy.sim.world.rng import SimRng

# (least, most) of the differences between the machines' clocks.
SKEW_MS: Final = 400
DRIFT_PPM: Final = 300

OnLine = Callable[["Host", Line], None]


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
        self.is_alive = False
        self.is_serving = False
        self.is_paused = False
        self.is_stopping = False
        self.boots = 0
        self.disk_latency_ms = 0
        self.trace = trace
        # What a counted change of the disk does: the power goes, or only the process.
        self.is_killed_when_cut = False
        # Hear what a process says of itself, and that one begins.
        self.on_line: list[OnLine] = []
        self.on_start: list[Callable[[Node], None]] = []
        self.power = Power(rng.fork(f"{self.name}/power"), trace.of(self.name))
        self.journal = RecordingJournal(trace, self.name)
        self._base = clock
        self._clock = HostClock(
            clock,
            skew_ms=rng.fork(f"{self.name}/skew").between(-SKEW_MS, SKEW_MS),
            drift_ppm=rng.fork(f"{self.name}/drift").between(-DRIFT_PPM, DRIFT_PPM),
        )
        self.disk = SimDisk(lambda: self._clock.wall(), self._finish_later)
        self.disk.on_write = self.power
        self._net: HostNetwork = network.host(self.name)
        self._net.run = self.arrives
        self._net.leaves = self._leaves
        self._node_rng = rng.fork(f"{self.name}/node")
        self._tears = rng.fork(f"{self.name}/tears")
        self._latency = rng.fork(f"{self.name}/latency")
        self._turns = rng.fork(f"{self.name}/turns")
        self._reactor = SimReactor(self._clock, self._turns)
        self._promise = AnswersPromise(self.disk)
        self._life = DiskOfALife(self.disk)
        self._backlog: deque[Callback] = deque()
        # Who is connected to the broker's listeners, in this life.
        self._clients: list[Served] = []
        self._last_finish = clock.now()
        for directory in self.settings["log.dirs"].split(","):
            self.disk.make_directory(directory)
            self.disk.flush_directory(directory.rpartition("/")[0])
        self.disk.flush_directory("/")

    @property
    def clock(self) -> HostClock:
        return self._clock

    @property
    def state(self) -> str:
        if not self.is_alive:
            return "is down"
        if self.is_paused:
            return "is paused"
        return "serves" if self.is_serving else "starts"

    @property
    def has_lost_a_directory(self) -> bool:
        """Until somebody repairs the disk and starts it again."""
        if self.node is None or self.node.broker is None:
            return False
        logs = self.node.broker.logs
        return any(logs.is_directory_offline(one) for one in self.settings["log.dirs"].split(","))

    @property
    def is_quiet(self) -> bool:
        """Nothing is wrong with this machine now: it lives, and is not about to die."""
        will_die = self.is_stopping or self.power.is_planned or self.disk.will_fail
        return self.is_alive and not self.is_paused and not will_die

    # Life and death.

    def start(self) -> None:
        assert not self.is_alive, (self.name, "one life at a time")
        self.boots += 1
        self._note("start", self.boots)
        self._net.machine_started()
        self.journal = RecordingJournal(self.trace, self.name)
        self.journal.on_line = self._said
        self._life = DiskOfALife(self.disk)
        self._clock = self._clock.of_a_life(partial(self._run_of_life, self.boots))
        self._reactor = SimReactor(self._clock, self._turns)
        self.disk.turn = self._reactor.turn
        self._promise = AnswersPromise(self.disk)
        self.is_alive = True
        self.run(self._boot)

    def _boot(self) -> None:
        turn = self._reactor.turn
        try:
            node = Node(
                config=BrokerConfig(self.settings, takes_unbuilt=True),
                disk=cast(Disk, self._life),
                clock=self._clock,
                rng=self._node_rng,
                journal=self.journal,
                bound_ports={},
                network=self._net,
                turn=turn,
                host=self.name,
            )
        except (CannotStart, DiskFailed) as failed:
            self._gave_up(failed)
            return
        self.node = node
        self._clients = []
        node.on_fatal = self._gave_up
        turn.failed = partial(self._turn_failed, node)
        if node.broker is not None:
            node.broker.hang_up = partial(self._hang_up, node)
        for then in self.on_start:
            then(node)
        self._listen(node, is_controller=True)
        node.start(partial(self._serving, node))

    def stop(self, then: Callback) -> None:
        """A clean shutdown; `then` when the process has ended."""
        node = self.node
        assert node is not None, (self.name, "nothing to stop")
        self._note("stop")
        self.is_stopping = True

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

    def leave(self, *, with_its_name: bool = False) -> None:
        """A container that is killed: its process and its place in the network go together."""
        self._note("leave")
        self._gone()
        self.disk.kill()
        self._net.machine_left(with_its_name=with_its_name)

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

    def _turn_failed(self, node: Node, failed: DiskFailed) -> None:
        """What a turn appended could not be written, and its answers did not leave."""
        self._note("lost", failed)
        self._promise.losses_are_known()
        node.directory_failed(failed)
        self._net.reset_connections()

    def _gone(self) -> None:
        self._life.is_over = True
        self.is_alive = False
        self.node = None
        self.is_serving = self.is_paused = self.is_stopping = False
        self._backlog.clear()
        self._last_finish = self._base.now()
        self.power.restore()

    # What runs in the process.

    def run(self, then: Callback) -> None:
        """In the process that lives now, one thing at a time."""
        if not self.is_alive:
            return
        if self.is_paused:
            self._backlog.append(then)
            return
        try:
            then()
        except Interrupted:
            self._note("died")
            if self.is_alive:
                if self.is_killed_when_cut:
                    self.kill()
                else:
                    self.crash()

    def arrives(self, then: Callback) -> None:
        """From the network: in the next turn."""
        if self.is_alive:
            self._reactor.arrives(then)

    def _leaves(self, carry: Callback) -> None:
        """At the end of the turn, if there is one; into the network."""
        promised = self._promise.answer_is_there()
        self._reactor.turn.answer(partial(self._leave, promised, carry))

    def _leave(self, promised: Promised, carry: Callback) -> None:
        self._promise.answer_leaves(promised, f"somebody by {self.name}")
        self.power("answer", self.name, 0)
        carry()

    def _run_of_life(self, boot: int, then: Callback) -> None:
        if boot == self.boots:
            self.run(then)

    def _finish_later(self, then: Callback) -> None:
        """Flushes end in the order they began, each after a while."""
        delay_ms = self._latency.below(self.disk_latency_ms + 1)
        self._last_finish = max(self._last_finish, later(self._base.now(), delay_ms))
        boot = self.boots
        self._base.call_at(self._last_finish, lambda: self._finished(boot, then))

    def _finished(self, boot: int, then: Callback) -> None:
        if boot == self.boots:
            self.arrives(then)

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
        served = Served(node, end, Peer(listener, host, is_controller_listener=is_controller))
        if not is_controller:
            self._clients = [one for one in self._clients if one.is_open]
            self._clients.append(served)
        return served

    def _hang_up(self, node: Node, then: Callback) -> None:
        """On the broker's clients, once the answers that are on their way have left."""

        def now() -> None:
            for one in self._clients:
                one.hang_up()
            then()

        names = node.config.listening.controller_names
        for endpoint in node.config.endpoints:
            if endpoint.name not in names:
                self._net.stop_listening(endpoint.port)
        node.clock.call_soon(now)

    def _said(self, line: Line) -> None:
        for then in self.on_line:
            then(self, line)

    def _note(self, what: str, *facts: object) -> None:
        self.trace.note(self.name, what, *facts)
