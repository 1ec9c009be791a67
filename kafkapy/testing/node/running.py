"""The life of a test's broker: where it keeps its files, its thread, and how it comes and goes.

Running --start--> BrokerThread --stop, kill, a full disk--> nothing --start--> BrokerThread
   |                                                            |
   +-- port, clock, disk, faults, requests: kept until close ---+
"""

import os
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, TypeVar

from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing.asking.ask import ask
from kafkapy.testing.gate.faults import Faults
from kafkapy.testing.gate.gatekeeper import Gatekeeper
from kafkapy.testing.gate.releases import release_named
from kafkapy.testing.gate.requests import Requests
from kafkapy.testing.node.clock import Time
from kafkapy.testing.node.memory_disk import MemoryDisk
from kafkapy.testing.node.settings import configured
from kafkapy.testing.node.shell import Around, Gate, Heard
from kafkapy.testing.node.thread import BrokerDied, BrokerThread

T = TypeVar("T")
Self = TypeVar("Self", bound="Running")

# What a broker in memory calls its directory; nothing of the machine's is there.
_IN_MEMORY: Final = f"{tempfile.gettempdir().replace(os.sep, '/')}/kafkapy-in-memory"
_LOOK_SECONDS: Final = 0.003


class DiskSpace:
    """`kafka.disk`: fill it, and the next write fails; Kafka halts then, and so does this."""

    def __init__(self, memory: MemoryDisk | None) -> None:
        self._memory = memory

    def fill(self) -> None:
        self._in_memory().is_full = True

    def free(self) -> None:
        """There is room again. A broker that has halted is started with `start`."""
        self._in_memory().is_full = False

    @property
    def is_full(self) -> bool:
        return self._memory is not None and self._memory.is_full

    def _in_memory(self) -> MemoryDisk:
        if self._memory is None:
            raise ValueError("only a broker in memory (without `directory`) has a disk to fill")
        return self._memory


class Running:
    """What `Broker` is made of, without what it can be asked."""

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        directory: str | os.PathLike[str] | None = None,
        api_versions: str | None = None,
        hooks: Mapping[str, object] | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        """`settings` are Kafka's, by its names. Files are in memory, or in `directory`, which
        stays. `api_versions` is a release of Apache Kafka to pass for: "2.8". `hooks`: classes or
        objects (docs/HOOKS.md) by the names that topics' settings have for them. Port 0 is a free
        one, which the broker keeps over restarts."""
        release = None if api_versions is None else release_named(api_versions)
        self.faults = Faults()
        self.clock = Time(lambda by_ms: self._running().advance(by_ms))
        self._settings = dict(settings or {})
        self._directory = _IN_MEMORY if directory is None else os.path.abspath(directory)
        self._memory = MemoryDisk() if directory is None else None
        self.disk = DiskSpace(self._memory)
        self._requests = Requests()
        self._around: Around | None = None
        self._hooks = hooks
        self._gate: Gate = Gatekeeper((self.faults,), self._requests, release)
        self._heard = Heard()
        self._thread: BrokerThread | None = None
        self._abandon: weakref.finalize[..., Any] | None = None
        self._host = host
        self.port = port

    def __enter__(self: Self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if error is None:
            self.faults.check()

    def start(self) -> None:
        """Serve; on the port and the data of before, if it served before."""
        if self._thread is not None and self._thread.has_halted:
            self.stop()
        assert self._thread is None, "the broker runs already"
        config = configured(
            self._directory, f"{self._host}:{self.port}", self._settings_of_this_start()
        )
        thread = BrokerThread(
            config,
            self._heard,
            self._gate,
            self._memory,
            self.clock.ahead_ms,
            self._around,
            self._hooks,
        )
        self._abandon = weakref.finalize(self, thread.abandon)
        try:
            self.port = thread.start()
        except BaseException:
            self._abandon.detach()
            raise
        self._thread = thread

    def _settings_of_this_start(self) -> Mapping[str, str]:
        return self._settings

    def stop(self) -> None:
        """Shut down cleanly, as on SIGTERM; the data stays for `start`."""
        self._end(kill=False)

    def kill(self) -> None:
        """End at once, as on SIGKILL: nothing is flushed or handed over."""
        self._end(kill=True)

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        """End it, if it runs. What is in memory goes with the object, so nothing is handed
        over or flushed for it; a directory is left as after a clean shutdown."""
        if self._thread is not None:
            self._end(kill=self._memory is not None)

    @property
    def bootstrap(self) -> str:
        """What clients call bootstrap.servers."""
        assert self.port, "the broker has not been started"
        return f"{self._host}:{self.port}"

    @property
    def http(self) -> str:
        """Where it speaks HTTP, as a URL: with http.listeners=http://127.0.0.1:0 among its
        settings. Another one after each start."""
        http = self._running().http
        assert http is not None, "give it http.listeners"
        return http.addresses[0]

    @property
    def is_in_memory(self) -> bool:
        return self._memory is not None

    @property
    def is_running(self) -> bool:
        """Not before `start`, nor after `stop` or `kill`, nor once its disk was full."""
        return self._thread is not None and not self._thread.is_over

    def wait_until_halted(self, timeout: float = 10.0) -> None:
        """Return once the broker has met its full disk; TimeoutError if nothing is written."""
        deadline = time.monotonic() + timeout
        while self.is_running:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the broker still runs after {timeout} s")
            time.sleep(_LOOK_SECONDS)

    def _end(self, *, kill: bool) -> None:
        thread, self._thread = self._running(), None
        assert self._abandon is not None, "it was started"
        self._abandon.detach()
        thread.stop(kill=kill)

    def _running(self) -> BrokerThread:
        if self._thread is None:
            raise BrokerDied("the broker does not run; start() it")
        return self._thread

    def _call(self, work: Callable[[BrokerRole], T]) -> T:
        return self._running().call(work)

    def _ask(self, api: ApiKey, version: int, body: Mapping[str, Any]) -> Any:
        return self._running().ask(lambda node, done: ask(node, api, version, body, done))
