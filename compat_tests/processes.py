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
        atexit.unregister(self.stop)
        if self.is_running:
            self._child.send_signal(how)
            try:
                self._child.wait(patience_s)
            except subprocess.TimeoutExpired:
                self._child.kill()
        status = self._child.wait()
        if self._child.stdout is not None:
            self._child.stdout.close()
        return status

    def log_tail(self, lines: int = 15) -> str:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def _die_with_parent() -> Callable[[], object]:
    # Loaded before the fork: a child between fork and exec should do next to nothing.
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
