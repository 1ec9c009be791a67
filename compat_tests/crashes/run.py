"""Rounds of load and death: the same files, the same port, and kill -9 again and again.

After every start each partition's last stable offset has to pass the end that the log had
then: whatever was open when the broker died is ended, by its producer or by time.
"""

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass

from compat_tests.crashes.load import Load
from compat_tests.crashes.producers import LONG_TRANSACTION_TIMEOUT_MS, TRANSACTION_TIMEOUT_MS
from compat_tests.targets import Kafkapy, Server

LONGEST_LIFE_S = 1.5


@dataclass(slots=True)
class Run:
    server: Server
    seed: int
    say: Callable[[str], None] = print

    def go(self, rounds: int) -> None:
        """`rounds` deaths. Raises Broken, or what a client died of."""
        dice = random.Random(self.seed)
        self.server.start()
        is_ours = isinstance(self.server, Kafkapy)
        timeout_ms = TRANSACTION_TIMEOUT_MS if is_ours else LONG_TRANSACTION_TIMEOUT_MS
        load = Load(self.server.bootstrap, self.seed, timeout_ms, self.say)
        load.start()
        try:
            for number in range(1, rounds + 1):
                lived_s = dice.uniform(0.02, LONGEST_LIFE_S)
                load.go_on(lived_s)
                self.server.stop(how=signal.SIGKILL)
                self.server.start()
                waited_s = load.nothing_is_stuck()
                load.raise_failures()
                if number % 10 == 0 or number == rounds:
                    load.judge(f"after {number} deaths")
                self.say(
                    f"round {number}: lived {lived_s:.2f} s, free again after {waited_s:.1f} s, "
                    f"{load.recording.committed()} transactions committed so far"
                )
        finally:
            load.stop()
        load.last_judgement()
