"""One broker on one background thread with a Trio loop of its own.

    caller's thread                      broker's thread
    start()    ---------------------->   trio.run(_main): bind, start, serve
               <----------------------   ready, or the failure
    call(f)    --- run_soon ---------->  f(node, done)
               <--- Future -----------   done(result)
    stop()     ---------------------->   hand over, flush, close
               <----------------------   the thread has ended

A broker that dies answers every call under way with its death. The thread is a daemon, and a
broker that nobody holds any more, or that is left at exit, is told to end (`abandon`): a test
run that forgot to stop its broker still ends.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import trio

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.broker.node.node import Node
from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Callback
from kafkapy.testing.node.clock import AdvancingClock
from kafkapy.testing.node.memory_disk import MemoryDisk
from kafkapy.testing.node.shell import Around, Gate, Heard, TestShell, bind

if TYPE_CHECKING:
    from kafkapy.http.beside import Http

# Far beyond what a start takes on a loaded machine: reached only when something hangs.
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 60.0
# At exit a broker nobody stopped gets this long before the process goes without it.
ABANDON_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.1

T = TypeVar("T")


class BrokerDied(Exception):
    """The broker's loop ended while something was asked of it; the cause is attached."""


class BrokerPaused(Exception):
    """It was asked something while its loop stands still: there would be no answer."""


class BrokerThread:
    """Started once, stopped once; a restart is a new one on the same data and port."""

    def __init__(
        self,
        config: BrokerConfig,
        journal: Heard,
        gate: Gate,
        memory: MemoryDisk | None,
        clock_ahead_ms: int = 0,
        around: Around | None = None,
        hooks: Mapping[str, object] | None = None,
    ) -> None:
        self._config = config
        self._journal = journal
        self._gate = gate
        self._memory = memory
        self._clock_ahead_ms = clock_ahead_ms
        self._around = around
        self._hooks = hooks
        self._go_on = threading.Event()
        self._go_on.set()
        self._ready: Future[int] = Future()
        self._waiting: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._died: BaseException | None = None
        self.is_over = False
        self._kill = False
        self._stop = trio.Event()
        # Onto the loop from another thread, once it serves.
        self._run_soon: Callable[[Callback], None] | None = None
        self._shell: TestShell | None = None
        self.http: Http | None = None
        self._thread = threading.Thread(target=self._run, name="kafkapy-broker", daemon=True)

    def start(self) -> int:
        """Returns the port once the broker serves."""
        self._thread.start()
        return self._ready.result(START_SECONDS)

    def stop(self, *, kill: bool = False) -> None:
        """Raises what the broker died of, if it did; a full disk is no surprise."""
        self._tell_to_stop(kill=kill)
        self._thread.join(STOP_SECONDS)
        assert not self._thread.is_alive(), "the broker's thread does not end"
        if self._died is not None and not self.has_halted:
            raise BrokerDied("the broker died of its own") from self._died

    def abandon(self) -> None:
        """End without being waited for; at exit, or from whichever thread collects garbage."""
        self._tell_to_stop(kill=True)
        self.resume()
        if threading.current_thread() is threading.main_thread():
            self._thread.join(ABANDON_SECONDS)

    def run_soon(self, then: Callback) -> None:
        """On the broker's loop, if there still is one."""
        if self._run_soon is not None:
            with suppress(trio.RunFinishedError):
                self._run_soon(then)

    def pause(self) -> None:
        """The loop stands still when this returns, until `resume`: as after SIGSTOP, sockets
        are there and nobody reads them."""
        if not self._go_on.is_set():
            return
        stands = threading.Event()
        self._go_on.clear()

        def stand() -> None:
            stands.set()
            self._go_on.wait()

        self.run_soon(stand)
        while not stands.wait(_LOOK_SECONDS):
            if self.is_over:
                raise BrokerDied("the broker does not run") from self._died

    def resume(self) -> None:
        self._go_on.set()

    @property
    def has_halted(self) -> bool:
        """It ended because its disk is full, as Kafka does."""
        return self.is_over and isinstance(self._died, DiskFailed)

    def _tell_to_stop(self, *, kill: bool) -> None:
        self._kill = kill
        self.run_soon(self._stop.set)

    def call(self, work: Callable[[BrokerRole], T]) -> T:
        """Run `work` on the broker's loop."""

        def answer(node: Node, done: Callable[[T], None]) -> None:
            assert node.broker is not None, "a test's node is a broker"
            done(work(node.broker))

        return self.ask(answer)

    def advance(self, by_ms: int) -> None:
        """Put the broker's clock forward."""

        def on_loop(_node: Node, done: Callable[[None], None]) -> None:
            assert self._shell is not None, "it is ready"
            self._shell.advance(by_ms)
            done(None)

        self.ask(on_loop)

    def ask(self, work: Callable[[Node, Callable[[T], None]], None]) -> T:
        """Run `work` on the broker's loop; it, or something later, calls `done` once."""
        answer: Future[T] = Future()
        if not self._go_on.is_set():
            raise BrokerPaused("the broker is paused and does not answer; resume() it")
        with self._lock:
            if self.is_over or self._run_soon is None:
                raise BrokerDied("the broker does not run") from self._died
            self._waiting.add(answer)

        def on_loop() -> None:
            shell = self._shell
            assert shell is not None, "it is ready"
            try:
                work(shell.node, answer.set_result)
            except BaseException as failed:
                # The caller's to deal with, not the broker's to die of.
                answer.set_exception(failed)

        try:
            self._run_soon(on_loop)
            return answer.result()
        except trio.RunFinishedError:
            raise BrokerDied("the broker does not run") from self._died
        finally:
            with self._lock:
                self._waiting.discard(answer)

    # --- on the broker's thread ---

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as died:
            self._died = _only(died)
        with self._lock:
            self.is_over = True
            waiting = list(self._waiting)
        if not self._ready.done():
            self._ready.set_exception(self._died or BrokerDied("it ended while starting"))
        for answer in waiting:
            if not answer.done():
                failure = BrokerDied("the broker died of its own")
                failure.__cause__ = self._died
                answer.set_exception(failure)

    async def _main(self) -> None:
        sockets = bind(self._config)
        try:
            if self._config.http_listeners:
                # Only then: it needs what a test without it may not have installed.
                from kafkapy.http.beside import Http

                self.http = Http(self._config, self._journal)
            clock = AdvancingClock(self._clock_ahead_ms)
            shell = TestShell(
                self._config,
                self._journal,
                sockets,
                self._gate,
                clock,
                self._memory,
                self._around,
                self._hooks,
            )
            try:
                await self._serve(shell)
            finally:
                shell.release()
        finally:
            if self.http is not None:
                self.http.close()
            for _, sock in sockets:
                sock.close()

    async def _serve(self, shell: TestShell) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(shell.clock.run)
            nursery.start_soon(shell.reactor.run)
            if self.http is not None:
                shell.put_beside(self.http)
            await shell.start()
            self._shell = shell
            self._run_soon = shell.reactor.run_soon
            self._ready.set_result(int(shell.serving().address.rpartition(":")[2]))
            await self._stop.wait()
            if self._kill:
                shell.kill()
            else:
                await shell.stop()
            nursery.cancel_scope.cancel()


def _only(failure: BaseException) -> BaseException:
    """Out of the groups that nurseries wrap around a single exception."""
    while isinstance(failure, BaseExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return failure
