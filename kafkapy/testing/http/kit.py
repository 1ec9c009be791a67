"""What the HTTP API works on: one broker, the faults asked for, the coordinators lost.

Requests come in on threads of their own; a broker that restarts is nobody's to ask meanwhile.
"""

import threading
from collections.abc import Callable

from kafkapy.testing.asking.coordinators import LostCoordinator
from kafkapy.testing.broker import Broker
from kafkapy.testing.gate.faults import Fault


class Kit:
    """`make(port)` gives a broker that was not started; None for a port of its choice."""

    def __init__(self, make: Callable[[int | None], Broker]) -> None:
        self._make = make
        self.broker = make(None)
        self.faults: dict[int, Fault] = {}
        self.lost: list[LostCoordinator] = []
        self._fault_count = 0
        self._changing = threading.Lock()

    def start(self) -> None:
        with self._changing:
            if self.broker.is_running:
                raise ValueError("the broker runs already")
            self.broker.start()

    def stop(self) -> None:
        with self._changing:
            self.broker.stop()

    def kill(self) -> None:
        with self._changing:
            self.broker.kill()

    def restart(self) -> None:
        with self._changing:
            self.broker.restart()

    def reset(self) -> None:
        """An empty broker on the same port; faults, requests and the clock start over too."""
        with self._changing:
            if not self.broker.is_in_memory:
                raise ValueError("reset needs a broker in memory: serve without --data, --config")
            old = self.broker
            new = self._make(old.port)
            old.close()
            self.faults.clear()
            self.lost.clear()
            self.broker = new
            new.start()

    def close(self) -> None:
        with self._changing:
            self.broker.close()

    def keep_fault(self, fault: Fault) -> int:
        with self._changing:
            self._fault_count += 1
            self.faults[self._fault_count] = fault
            return self._fault_count

    def clear_faults(self) -> None:
        """Requests that are held are served."""
        self.broker.faults.clear()
        for fault in self.faults.values():
            fault.release()
        self.faults.clear()

    def elect(self) -> int:
        lost, self.lost = self.lost, []
        for one in lost:
            one.__exit__(None, None, None)
        return len(lost)
