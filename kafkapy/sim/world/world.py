"""A world: one node, the disk it is on, the time it lives in, and how it dies.

    start --> serving --> stop    everything flushed, marked clean
                      \\-> crash   power off: what was not flushed is lost or torn
                      \\-> kill    kill -9: the page cache survives, the process does not

Everything comes from the seed. A world holds no opinion on what is right: `promises.py`
does.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, cast

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.replicated import of_own_topics
from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.broker.node.node import Node
from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Callback, Disk
from kafkapy.core.time import later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.promises.answers import AnswersPromise
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.disk import SimDisk
from kafkapy.sim.world.frames import OnAnswer, Pending, Wire, latest_version
from kafkapy.sim.world.journal import RecordingJournal, Trace
from kafkapy.sim.world.power import DiskOfALife, Power
from kafkapy.sim.world.reactor import SimReactor
from kafkapy.sim.world.rng import SimRng

# A node that has not started or stopped by then never will.
PATIENCE_MS: Final = 120_000

SETTINGS: Final[Mapping[str, str]] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/data/a,/data/b",
    **of_own_topics(brokers=1),
    # Often, so that a run of a few virtual minutes sees them.
    "log.initial.task.delay.ms": "2000",
    "log.retention.check.interval.ms": "3000",
    "log.cleaner.backoff.ms": "1000",
    "log.flush.scheduler.interval.ms": "2000",
    "log.flush.offset.checkpoint.interval.ms": "4000",
    "log.flush.start.offset.checkpoint.interval.ms": "4000",
    "replica.high.watermark.checkpoint.interval.ms": "4000",
    "metadata.log.max.record.bytes.between.snapshots": "6000",
    "metadata.max.idle.interval.ms": "0",
    "producer.id.expiration.ms": "2147483647",
    "auto.create.topics.enable": "false",
}


class World:
    """`node` is None while none lives."""

    def __init__(
        self,
        seed: int | str,
        settings: Mapping[str, str] | None = None,
        *,
        has_directories: bool = True,
    ) -> None:
        self.rng = SimRng(seed)
        self.clock = SimClock()
        self.trace = Trace(self.clock)
        self.power = Power(self.rng.fork("power"), self.trace)
        self.disk = SimDisk(self.clock.wall, self._finish_later)
        self.disk.on_write = self.power
        self.journal = RecordingJournal(self.trace)
        self.settings = {**SETTINGS, **(settings or {})}
        self.node: Node | None = None
        self.is_serving = False
        self.boots = 0
        self.disk_latency_ms = 0
        self._life = DiskOfALife(self.disk)
        self._wire: Wire | None = None
        self._turns = self.rng.fork("turns")
        self.reactor = SimReactor(self.clock, self._turns)
        self._promise = AnswersPromise(self.disk)
        self._node_rng = self.rng.fork("node")
        self._tears = self.rng.fork("tears")
        self._latency = self.rng.fork("latency")
        self._last_finish = self.clock.now()
        for directory in self.settings["log.dirs"].split(",") if has_directories else ():
            self.disk.make_directory(directory)
            self.disk.flush_directory(directory.rpartition("/")[0])
        self.disk.flush_directory("/")

    # Life and death.

    def start(self) -> None:
        """Until the node serves; PowerCut if it dies before."""
        self.boot().start(self._serving)
        assert self.clock.run_until(lambda: self.is_serving, PATIENCE_MS), "it does not start"

    def boot(self) -> Node:
        """A node that has yet to be started."""
        assert self.node is None, "one life at a time"
        self.boots += 1
        self.trace.note("start", self.boots)
        self.journal = RecordingJournal(self.trace)
        self._life = DiskOfALife(self.disk)
        self.reactor = SimReactor(self.clock, self._turns)
        self.reactor.turn.failed = self._disk_failed
        self.disk.turn = self.reactor.turn
        self.node = Node(
            config=BrokerConfig(self.settings),
            disk=cast(Disk, self._life),
            clock=self.clock,
            rng=self._node_rng,
            journal=self.journal,
            bound_ports={"PLAINTEXT": 9092, "CONTROLLER": 9093},
            turn=self.reactor.turn,
        )
        self._promise = AnswersPromise(self.disk)
        self._wire = Wire(self.node, self.reactor, self._promise, self.power, self.trace)
        return self.node

    def stop(self) -> None:
        """A clean shutdown, then the process ends; PowerCut if it dies before."""
        assert self.node is not None, "nothing to stop"
        self.trace.note("stop")
        stopped: list[bool] = []
        self.node.stop(lambda: stopped.append(True))
        assert self.clock.run_until(lambda: bool(stopped), PATIENCE_MS), "it does not stop"
        self._gone()
        self.disk.kill()

    def crash(self) -> None:
        """The power goes: what was not flushed is lost, torn or, by luck, there."""
        self.trace.note("crash")
        self._gone()
        self.disk.crash(self._tears)

    def kill(self) -> None:
        """kill -9: nothing that was written is lost, but whoever wrote it is gone."""
        self.trace.note("kill")
        self._gone()
        self.disk.kill()

    def _serving(self) -> None:
        self.is_serving = True

    def _gone(self) -> None:
        self._life.is_over = True
        self.node = None
        self._wire = None
        self.is_serving = False
        self.clock.forget_all()
        self._last_finish = self.clock.now()
        self.power.restore()

    def directory_of(self, topic: str, index: int) -> str:
        """The log directory a partition is in; "" if it is in none."""
        partition = None if self.node is None else self.broker.partitions.get(topic, index)
        return "" if partition is None else partition.log.directory.rpartition("/")[0]

    @property
    def broker(self) -> BrokerRole:
        assert self.node is not None, "it does not run"
        assert self.node.broker is not None, "a world's node is a broker"
        return self.node.broker

    # Clients.

    def send(
        self,
        api_key: ApiKey,
        body: Mapping[str, Any],
        *,
        version: int | None = None,
        then: OnAnswer | None = None,
    ) -> Pending:
        assert self._wire is not None, "nobody listens"
        return self._wire.send(
            api_key, latest_version(api_key) if version is None else version, body, then
        )

    def ask(self, api_key: ApiKey, body: Mapping[str, Any], *, version: int | None = None) -> Any:
        """Send, and turn the clock until it is answered."""
        pending = self.send(api_key, body, version=version)
        answered = self.clock.run_until(lambda: pending.is_answered, PATIENCE_MS)
        assert answered, (api_key.name, "was never answered", body)
        return pending.answer

    # The disk.

    def _finish_later(self, then: Callback) -> None:
        """Flushes end in the order they began, each after a while, and are heard of in a turn."""
        delay_ms = self._latency.below(self.disk_latency_ms + 1)
        self._last_finish = max(self._last_finish, later(self.clock.now(), delay_ms))
        self.clock.call_at(self._last_finish, partial(self.reactor.arrives, then))

    def _disk_failed(self, failed: DiskFailed) -> None:
        """What a turn appended could not be written, and its answers did not leave."""
        assert self.node is not None
        assert self._wire is not None
        self.trace.note("lost", failed)
        self._promise.losses_are_known()
        self.node.directory_failed(failed)
        self._wire.disconnect()
