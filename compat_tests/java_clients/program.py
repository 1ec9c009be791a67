"""The Java program in `src/`: compiled once per version of the clients, started once per module.

    program.ask("codecs", topic)   one line to its stdin, one line back: `ok`, or what was wrong

A JVM takes a second to start and a test a tenth of that, so one serves all tests of a module.
"""

import queue
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from compat_tests.installation import JAVA_CLIENTS
from compat_tests.programs import java_program

_PATIENCE_S = 120.0


class Program:
    """A running JVM; dead or silent, it is started again for the next test."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._child: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def ask(self, test: str, topic: str) -> str:
        if self._child is None:
            self._start()
        assert self._child is not None
        asked = self._child.stdin
        assert asked is not None
        asked.write(f"{test} {topic}\n")
        asked.flush()
        try:
            answer = self._answers.get(timeout=_PATIENCE_S)
        except queue.Empty:
            self.stop()
            return f"no answer in {_PATIENCE_S:.0f} s"
        return answer or "the program ended"

    def stop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            for pipe in (self._child.stdin, self._child.stdout):
                assert pipe is not None
                pipe.close()
            self._child = None

    def _start(self) -> None:
        self._child = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._answers = queue.Queue()
        arguments = (self._child, self._answers)
        threading.Thread(target=_listen, args=arguments, daemon=True).start()


@contextmanager
def running(
    version: str, broker: str, *, folder: Path = Path(__file__).parent, main: str = "Main"
) -> Iterator[Program]:
    """The program on top of that version's clients; `Unavailable` where it cannot be had."""
    command = java_program(folder, JAVA_CLIENTS[version], main)
    program = Program([*command, broker])
    try:
        yield program
    finally:
        program.stop()


def _listen(child: "subprocess.Popen[str]", answers: "queue.Queue[str]") -> None:
    assert child.stdout is not None
    for line in child.stdout:
        answers.put(line.strip())
    answers.put("")
