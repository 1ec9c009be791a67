"""Server processes that tests start: found by pid, ended by pid, never left behind."""

import atexit
import ctypes
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

_PR_SET_PDEATHSIG = 1
_STOP_PATIENCE_S = 20.0
# So often clients may be run that a library aborts.
PROCESSES = 3


class Process:
    """One child process, its output in a file; it dies with us unless told to outlive us."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        stdout: int | IO[bytes] | None = None,
        environment: Mapping[str, str] | None = None,
        outlives_us: bool = False,
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output if stdout is None else stdout,
                stderr=output,
                env=environment,
                start_new_session=outlives_us,
                preexec_fn=None if outlives_us else _die_with_parent(),
            )
        self.pid = self._child.pid
        if not outlives_us:
            atexit.register(self.stop)

    @property
    def stdout(self) -> IO[bytes]:
        assert self._child.stdout is not None, "started without stdout=PIPE"
        return self._child.stdout

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    def stop(
        self, *, how: signal.Signals = signal.SIGTERM, patience_s: float = _STOP_PATIENCE_S
    ) -> int:
        """End it and wait; one that ignores SIGTERM for too long is killed."""
        status = self.end(how=how, patience_s=patience_s)
        atexit.unregister(self.stop)
        if self._child.stdout is not None:
            self._child.stdout.close()
        return status

    def end(
        self, *, how: signal.Signals = signal.SIGTERM, patience_s: float = _STOP_PATIENCE_S
    ) -> int:
        """The same for somebody who reads `stdout` on another thread: it is left open."""
        if self.is_running:
            self._child.send_signal(how)
            try:
                self._child.wait(patience_s)
            except subprocess.TimeoutExpired:
                self._child.kill()
        return self._child.wait()

    def log_tail(self, lines: int = 15) -> str:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def _die_with_parent() -> Callable[[], object]:
    # Loaded before the fork: a child between fork and exec should do next to nothing.
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def run_unless_aborted(
    command: list[str], *, cwd: Path, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run clients to their end. An abort of librdkafka (crashes/README.md) says nothing about the
    servers: another process has a go then."""
    for _ in range(PROCESSES):
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        if done.returncode != -signal.SIGABRT:
            break
    return done
