"""Rounds of load and death, and the judgement.

    writers ---------+                        +--> checkers: torn, lost, doubled ... ?
    copy (offsets) --+--> server --kill -9--> | every last stable offset comes free ?
    readers ---------+      ^        |        +--> each input has exactly one output ?
                            +--------+ the same files, the same port

After every start each partition's last stable offset has to pass the end that the log had
then: whatever was open when the broker died is ended, by its producer or by time.
"""

import faulthandler
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from compat_tests.crashes.consumers import (
    COMMITTED,
    UNCOMMITTED,
    Reader,
    Where,
    committed,
    consumer,
    create_topics,
    end_of,
    ends,
    keep_copying,
    keep_reading,
)
from compat_tests.crashes.producers import (
    LONG_TRANSACTION_TIMEOUT_MS,
    TRANSACTION_TIMEOUT_MS,
    keep_writing,
    keep_writing_plainly,
)
from compat_tests.crashes.recording import Recording
from compat_tests.targets import Kafkapy, Server
from compat_tests.waiting import PATIENCE_S, wait_for

WRITTEN: list[Where] = [("written", index) for index in range(3)]
INPUT: Where = ("input", 0)
OUTPUT: Where = ("output", 0)
EVERYTHING = [*WRITTEN, INPUT, OUTPUT]
LONGEST_LIFE_S = 1.5
# The load of a run does not grow without end, so that rounds cost the same.
_SLOWER_S = 0.002


class Broken(AssertionError):
    """A promise of exactly once was not kept."""


@dataclass(slots=True)
class Run:
    server: Server
    seed: int
    say: Callable[[str], None] = print
    recording: Recording = field(default_factory=Recording)
    _over: threading.Event = field(default_factory=threading.Event)
    _failures: list[BaseException] = field(default_factory=list)

    def go(self, rounds: int) -> None:
        """`rounds` deaths. Raises Broken, or what a client died of."""
        dice = random.Random(self.seed)
        self.server.start()
        create_topics(self.server.bootstrap, EVERYTHING)
        threads = self._start_clients(dice)
        try:
            for number in range(1, rounds + 1):
                lived_s = dice.uniform(0.02, LONGEST_LIFE_S)
                self._over.wait(lived_s)
                self.server.stop(how=signal.SIGKILL)
                self.server.start()
                waited_s = self._nothing_is_stuck()
                self._raise_failures()
                if number % 10 == 0 or number == rounds:
                    self._judge(f"after {number} deaths")
                self.say(
                    f"round {number}: lived {lived_s:.2f} s, free again after {waited_s:.1f} s, "
                    f"{self.recording.committed()} transactions committed so far"
                )
        finally:
            self._over.set()
            for thread in threads:
                thread.join(PATIENCE_S)
        self._raise_failures()
        stuck = [thread.name for thread in threads if thread.is_alive()]
        if stuck:
            faulthandler.dump_traceback()
            raise Broken(f"never came back from a call of its library: {stuck}")
        self._last_judgement()

    # Clients

    def _start_clients(self, dice: random.Random) -> list[threading.Thread]:
        bootstrap, recording, is_over = self.server.bootstrap, self.recording, self._over.is_set
        is_ours = isinstance(self.server, Kafkapy)
        timeout_ms = TRANSACTION_TIMEOUT_MS if is_ours else LONG_TRANSACTION_TIMEOUT_MS
        readers = [
            Reader(bootstrap, recording, 11, EVERYTHING),
            Reader(bootstrap, recording, 12, EVERYTHING, UNCOMMITTED),
        ]

        def writer(process: int, transactional_id: str) -> Callable[[], None]:
            its_dice = random.Random(dice.random())
            return lambda: keep_writing(
                bootstrap,
                recording,
                process,
                transactional_id,
                WRITTEN,
                its_dice,
                is_over,
                timeout_ms=timeout_ms,
            )

        copy_dice = random.Random(dice.random())
        works: list[Callable[[], None]] = [
            writer(1, "writer-1"),
            writer(2, "writer-2"),
            # Two with one id: each fences the other.
            writer(3, "shared"),
            writer(4, "shared"),
            lambda: keep_writing_plainly(
                bootstrap, recording, 5, INPUT[0], self._over.wait, is_over
            ),
            lambda: keep_copying(
                bootstrap,
                recording,
                6,
                INPUT[0],
                OUTPUT[0],
                copy_dice,
                is_over,
                timeout_ms=timeout_ms,
            ),
            *(lambda reader=reader: keep_reading(reader, is_over) for reader in readers),
        ]
        threads = [
            # Whoever is stuck is reported, and must not keep the process from ending.
            threading.Thread(target=self._guard, args=(work,), name=f"client {number}", daemon=True)
            for number, work in enumerate(works, 1)
        ]
        for thread in threads:
            thread.start()
        return threads

    def _guard(self, work: Callable[[], None]) -> None:
        """A client that dies of something else than the broker ends the run."""
        try:
            work()
        except BaseException as failed:
            self._failures.append(failed)
            raise

    def _raise_failures(self) -> None:
        if self._failures:
            raise self._failures[0]

    # Judgement

    def _nothing_is_stuck(self) -> float:
        """Every last stable offset passes the end as it is now; how long that took."""
        began = time.monotonic()
        at_end = ends(self.server.bootstrap, UNCOMMITTED, EVERYTHING)
        client = consumer(self.server.bootstrap, COMMITTED)

        def stuck() -> list[Where]:
            return [one for one, end in at_end.items() if end_of(client, one) < end]

        try:
            wait_for("every last stable offset is free", lambda: not stuck(), every_s=0.05)
        except AssertionError:
            raise Broken(f"stuck: {stuck()}, ends were {at_end}") from None
        finally:
            client.close()
        return time.monotonic() - began

    def _judge(self, when: str) -> None:
        found = self.recording.anomalies()
        if found:
            first = "\n".join(str(one) for one in found[:5])
            raise Broken(f"{len(found)} anomalies {when}:\n{first}")

    def _last_judgement(self) -> None:
        """Nobody writes any more. Everything is read again from its start, at both levels."""
        bootstrap = self.server.bootstrap
        self._nothing_is_stuck()
        stable = ends(bootstrap, COMMITTED, EVERYTHING)
        at_end = ends(bootstrap, UNCOMMITTED, EVERYTHING)
        if stable != at_end:
            raise Broken(f"last stable offsets {stable} are not at the ends {at_end}")
        fresh = Reader(bootstrap, self.recording, 21, EVERYTHING)
        fresh.read_to_the_ends()
        everything = Reader(bootstrap, self.recording, 22, EVERYTHING, UNCOMMITTED)
        everything.read_to_the_ends()
        for reader in (fresh, everything):
            reader.close()
        self._judge("at the end")
        client = consumer(bootstrap, COMMITTED, group_id="copy")
        done = committed(client, INPUT[0])
        client.close()
        outputs = Counter(value.partition("/")[0] for value in fresh.values[OUTPUT])
        if outputs != Counter(str(number) for number in range(done)):
            wrong = {key: count for key, count in outputs.items() if count != 1}
            raise Broken(f"{done} inputs are done, {len(outputs)} have outputs; not once: {wrong}")
        self.say(
            f"seed {self.seed}: {len(self.recording)} operations, "
            f"{self.recording.committed()} transactions committed, {done} records copied once, "
            f"{sum(at_end.values())} offsets; no anomaly"
        )
