"""The programs by client, and one of them as the test sees it."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from compat_tests.chaos.producers.telling import Order
from compat_tests.chaos.timing import longest_gap
from compat_tests.installation import JAVA_CLIENTS
from compat_tests.processes import Process
from compat_tests.programs import go_program, java_program
from kafkapy.sim.checkers import Outcome

_HERE: Final = Path(__file__).parent


def _python(name: str) -> Callable[[], list[str]]:
    return lambda: [sys.executable, "-m", f"compat_tests.chaos.producers.{name}"]


CLIENTS: Final[dict[str, Callable[[], list[str]]]] = {
    "librdkafka": _python("on_librdkafka"),
    "Java": lambda: java_program(_HERE / "java", JAVA_CLIENTS["4.4.0"], "Load"),
    "kafka-python": _python("on_kafka_python"),
    "aiokafka": _python("on_aiokafka"),
    "franz-go": lambda: [*go_program(_HERE.parent.parent / "franz_go"), "produce"],
}


class Sent(NamedTuple):
    partition: int
    number: int


class Acknowledged(NamedTuple):
    offset: int
    at_ms: int


class Producer:
    """A program that runs; a thread reads what it says."""

    def __init__(self, client: str, asked: Order, directory: Path) -> None:
        self.sent: list[Sent] = []
        self.acknowledged: dict[Sent, Acknowledged] = {}
        self.failed: dict[Sent, str] = {}
        self._times: dict[int, list[float]] = {one: [] for one in range(asked.partitions)}
        self._is_closed = False
        self._process = Process(
            [*CLIENTS[client](), *map(str, asked)],
            log=directory / f"{client}.log",
            stdout=subprocess.PIPE,
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """It sends nothing new, waits for every answer, and ends."""
        self._process.stop(patience_s=_FLUSH_S)
        self._thread.join()
        assert self._is_closed, f"it did not end well: {self._process.log_tail()}"

    def is_acknowledged_since(self, at_s: float) -> bool:
        """In every partition; of time.time()."""
        return all(times and times[-1] > at_s for times in self._times.values())

    def longest_gap(self, since: float, until: float) -> float:
        return max(longest_gap(list(times), since, until) for times in self._times.values())

    def outcome(self, one: Sent) -> Outcome:
        return Outcome.OK if one in self.acknowledged else Outcome.INFO

    def log_tail(self) -> str:
        return self._process.log_tail()

    def _listen(self) -> None:
        for line in self._process.stdout:
            match line.decode().strip().split(" ", 3):
                case ["sent", partition, number]:
                    self.sent.append(Sent(int(partition), int(number)))
                case ["acked", partition, number, rest]:
                    offset, at_ms = map(int, rest.split())
                    sent = Sent(int(partition), int(number))
                    self.acknowledged[sent] = Acknowledged(offset, at_ms)
                    self._times[sent.partition].append(at_ms / 1000)
                case ["failed", partition, number, why]:
                    self.failed[Sent(int(partition), int(number))] = why
                case ["closed"]:
                    self._is_closed = True


_FLUSH_S: Final = 150.0
