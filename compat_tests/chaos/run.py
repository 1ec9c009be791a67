"""Load, troubles, the judgement.

    plain producers ---------+                          +--> checkers: lost, torn, doubled ... ?
    transactional writers ---+                          +--> every last stable offset comes free ?
    copy (offsets) ----------+--> proxy --> three nodes +--> each input has exactly one output ?
    groups, both protocols --+      ^          ^        +--> groups were given everything ?
    readers -----------------+      |          |
                                 troubles, one after another, each undone

After each trouble the cluster has to become whole by itself. The load comes from the seed, the
moments from the clock: a failure need not come again with the same seed.
"""

import faulthandler
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from confluent_kafka import TopicPartition

from compat_tests.chaos.asking import leader_of
from compat_tests.chaos.cluster import Cluster
from compat_tests.chaos.group_reader import CLASSIC, CONSUMER, GroupReader
from compat_tests.chaos.timing import TimedRecording, longest_gap
from compat_tests.chaos.troubles import ALL, CLASSIC_GROUP, COPY, TOPIC
from compat_tests.crashes.consumers import (
    COMMITTED,
    UNCOMMITTED,
    Reader,
    Where,
    committed,
    consumer,
    create_topics,
    ends,
    keep_copying,
    keep_reading,
)
from compat_tests.crashes.producers import (
    TransactionalProducer,
    keep_writing,
    keep_writing_plainly,
)
from compat_tests.crashes.recording import Recording
from compat_tests.waiting import PATIENCE_S, wait_for

WRITTEN: Final[list[Where]] = [("written", index) for index in range(3)]
INPUT: Final[list[Where]] = [(TOPIC, index) for index in range(3)]
OUTPUT: Final[Where] = ("output", 0)
EVERYTHING: Final = [*WRITTEN, *INPUT, OUTPUT]
# Longer than a fail-over by session takes: a transaction may go on after one.
TRANSACTION_TIMEOUT_MS: Final = 30_000
_SETTLE_S: Final = 3.0
_LOOK_S: Final = 0.05
_PLAIN_EVERY_S: Final = 0.008

# Who is who in the history.
PLAIN: Final = {5: 0, 31: 1, 32: 2}
WRITERS: Final = {1: "writer-1", 2: "writer-2"}
COPIER: Final = 6
GROUPS: Final = {
    41: (CLASSIC_GROUP, CLASSIC),
    42: (CLASSIC_GROUP, CLASSIC),
    43: ("consumer-readers", CONSUMER),
    44: ("consumer-readers", CONSUMER),
}


class Broken(AssertionError):
    """A promise was not kept."""


class Stuck(Exception):
    """A library does not come back from what the server does for a fresh client at once."""


class Told(NamedTuple):
    """Of one trouble, in seconds: until somebody else led the partition that is watched (None
    if nobody did); the longest time in which a partition acknowledged nothing, a producer
    committed no transaction, a group read nothing; and until all was whole again. `errors` are
    what clients did not get over by themselves."""

    trouble: str
    node: int
    moved: float | None
    acknowledged: float
    committed: float
    delivered: float
    whole: float
    errors: Counter[str]

    def __str__(self) -> str:
        moved = "" if self.moved is None else f"led by another after {self.moved:.2f} s, "
        return (
            f"{self.trouble} (node {self.node}): {moved}at most {self.acknowledged:.2f} s without "
            f"an acknowledgement, {self.committed:.2f} s without a commit, {self.delivered:.2f} s "
            f"without a delivery; whole {self.whole:.1f} s after it ended; clients were told "
            + (", ".join(f"{what} ({count})" for what, count in self.errors.items()) or "nothing")
        )


def nothing_ends_too_soon(recording: Recording, at_end: dict[Where, int]) -> None:
    highest = recording.highest_acknowledged()
    for (topic, partition), end in at_end.items():
        last = highest.get(f"{topic}-{partition}", -1)
        if last >= end:
            raise Broken(f"lost: {topic}-{partition} ends at {end}, @{last} was acknowledged")


class Watch:
    """Who leads the partition, as the others say; only of a node that led it."""

    def __init__(self, cluster: Cluster, node: int) -> None:
        self.moved_at: float | None = None
        self._node = node
        self._servers = ",".join(cluster.address(one) for one in cluster.nodes if one != node)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._was_led = leader_of(cluster.bootstrap, TOPIC, 0) == node

    def __enter__(self) -> "Watch":
        if self._was_led:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._was_led:
            self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(_LOOK_S):
            if leader_of(self._servers, TOPIC, 0) not in (None, self._node):
                self.moved_at = time.monotonic()
                return


@dataclass(slots=True)
class Run:
    cluster: Cluster
    seed: int
    say: Callable[[str], None] = print
    recording: TimedRecording = field(default_factory=TimedRecording)
    told: list[Told] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _failures: list[BaseException] = field(default_factory=list)
    _group_readers: list[GroupReader] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        self.cluster.start()
        create_topics(self.cluster.bootstrap, EVERYTHING)
        self.cluster.wait_until_whole()
        self._start_clients(random.Random(self.seed))
        everybody = [*PLAIN, *WRITERS, COPIER]
        self._wait_for_progress(everybody, "everybody has begun")

    def trouble(self, name: str) -> None:
        """It strikes, lasts, and is undone; then the cluster becomes whole, and all go on."""
        self._over.wait(_SETTLE_S)
        what = ALL[name]
        node = what.victim(self.cluster)
        began = time.monotonic()
        told_before = self.recording.told.copy()
        with Watch(self.cluster, node) as watch, what.strike(self.cluster, node):
            self._over.wait(what.lasts_s)
        ended = time.monotonic()
        self.cluster.wait_until_whole()
        whole = time.monotonic()
        self._wait_for_progress([*PLAIN, *WRITERS, COPIER], f"all go on after {name}")
        now = time.monotonic()
        gap = self.recording.longest_gap
        told = Told(
            name,
            node,
            watch.moved_at - began if watch.moved_at else None,
            gap(PLAIN, began, now),
            gap([*WRITERS, COPIER], began, now),
            max(self._group_gap(group, began, now) for group in set(GROUPS.values())),
            whole - ended,
            self.recording.told - told_before,
        )
        self.told.append(told)
        self.say(str(told))

    def finish(self) -> None:
        self.stop_clients()
        self.judge()

    def stop_clients(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE_S)
        self._raise_failures()
        stuck = [thread.name for thread in self._threads if thread.is_alive()]
        if stuck:
            faulthandler.dump_traceback(sys.stderr)
            raise Broken(f"never came back from a call of its library: {stuck}")

    # Clients

    def _start_clients(self, dice: random.Random) -> None:
        bootstrap, recording, is_over = self.cluster.bootstrap, self.recording, self._over.is_set
        works: dict[str, Callable[[], None]] = {}

        def plain(process: int, partition: int) -> None:
            keep_writing_plainly(
                bootstrap, recording, process, TOPIC, self._over.wait, is_over,
                partition=partition, every_s=_PLAIN_EVERY_S,
            )  # fmt: skip

        def writer(process: int, transactional_id: str, its_dice: random.Random) -> None:
            keep_writing(
                bootstrap, recording, process, transactional_id, WRITTEN, its_dice, is_over,
                timeout_ms=TRANSACTION_TIMEOUT_MS,
            )  # fmt: skip

        def copy(its_dice: random.Random) -> None:
            keep_copying(
                bootstrap, recording, COPIER, TOPIC, OUTPUT[0], its_dice, is_over,
                timeout_ms=TRANSACTION_TIMEOUT_MS,
            )  # fmt: skip

        for process, partition in PLAIN.items():
            works[f"plain {partition}"] = partial(plain, process, partition)
        for process, name in WRITERS.items():
            works[f"writer {process}"] = partial(writer, process, name, _dice(dice))
        works[COPY] = partial(copy, _dice(dice))
        for process, isolation in ((11, COMMITTED), (12, UNCOMMITTED)):
            reader = Reader(bootstrap, recording, process, EVERYTHING, isolation)
            works[f"reader {isolation}"] = partial(keep_reading, reader, is_over)
        for process, (group, protocol) in GROUPS.items():
            member = GroupReader(bootstrap, recording, process, group, protocol, TOPIC)
            self._group_readers.append(member)
            works[f"member {process} of {group}"] = partial(member.keep_reading, is_over)
        for name, work in works.items():
            # Whoever is stuck is reported, and must not keep the process from ending.
            thread = threading.Thread(target=self._guard, args=(work,), name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _guard(self, work: Callable[[], None]) -> None:
        """A client that dies of something else than a server ends the run."""
        try:
            work()
        except BaseException as failed:
            self._failures.append(failed)
            raise

    def _raise_failures(self) -> None:
        if self._failures:
            raise self._failures[0]

    def _wait_for_progress(self, processes: Iterable[int], what: str) -> None:
        """Until each of them has succeeded once more, and each group was given something."""
        since = time.monotonic()

        def lagging() -> list[object]:
            self._raise_failures()
            latest = {one: times[-1] for one, times in self.recording.succeeded.items()}
            slow: list[object] = [one for one in processes if latest.get(one, 0.0) < since]
            for group in set(GROUPS.values()):
                members = [one for one, its in GROUPS.items() if its == group]
                if max(latest.get(one, 0.0) for one in members) < since:
                    slow.append(group)
            return slow

        try:
            wait_for(what, lambda: not lagging(), timeout_s=4 * PATIENCE_S)
        except AssertionError:
            slow = lagging()
            faulthandler.dump_traceback(sys.stderr)
            is_transactional = bool(slow) and set(slow) <= {*WRITERS, COPIER}
            if is_transactional and self._works_for_a_fresh_client():
                raise Stuck(f"{what}: not {slow}, but a fresh client did the same") from None
            raise Broken(f"{what}: not {slow}") from None

    def _works_for_a_fresh_client(self) -> bool:
        """What writers and the copy do, offsets of the copy's group included. The run is over."""
        bootstrap, is_done = self.cluster.bootstrap, threading.Event()

        def play() -> None:
            producer = TransactionalProducer(bootstrap, "fresh", TRANSACTION_TIMEOUT_MS)
            producer.start(lambda: False)
            producer.begin()
            producer.send(*WRITTEN[0], "fresh")
            group = consumer(bootstrap, COMMITTED, group_id=COPY)
            producer.send_offsets([TopicPartition(TOPIC, 0, 0)], group.consumer_group_metadata())
            producer.commit()
            is_done.set()

        threading.Thread(target=play, daemon=True).start()
        return is_done.wait(PATIENCE_S)

    def _group_gap(self, group: tuple[str, str], since: float, until: float) -> float:
        """Together its members have all partitions; a rebalance may leave one without any."""
        recording = self.recording
        members = [one for one, its in GROUPS.items() if its == group]
        times = sorted(at for one in members for at in list(recording.succeeded.get(one, ())))
        return longest_gap(times, since, until)

    # Judgement

    def judge(self) -> None:
        """Nobody writes any more. Everything is read again from its start, at both levels."""
        bootstrap = self.cluster.bootstrap
        at_end = ends(bootstrap, UNCOMMITTED, EVERYTHING)
        nothing_ends_too_soon(self.recording, at_end)
        self._nothing_is_stuck(at_end)
        fresh = Reader(bootstrap, self.recording, 21, EVERYTHING)
        everything = Reader(bootstrap, self.recording, 22, EVERYTHING, UNCOMMITTED)
        for reader in (fresh, everything):
            reader.read_to_the_ends()
            reader.close()
        found = self.recording.anomalies()
        kinds = Counter(one.kind for one in found)
        if found:
            # Some of each kind: together they tell what happened.
            first = "\n".join(
                str(one) for kind in kinds for one in [it for it in found if it.kind == kind][:3]
            )
            raise Broken(f"seed {self.seed}: {dict(kinds)}\n{first}")
        done = self._copied_once(fresh)
        self._groups_got_everything(fresh)
        self.say(
            f"seed {self.seed}: {len(self.recording)} operations, "
            f"{self.recording.committed()} transactions committed, {done} records copied once, "
            f"{sum(at_end.values())} offsets; no anomaly"
        )

    def _nothing_is_stuck(self, at_end: dict[Where, int]) -> None:
        """Whatever transaction was left open is ended, by its producer or by time."""
        bootstrap = self.cluster.bootstrap

        def stuck() -> list[Where]:
            stable = ends(bootstrap, COMMITTED, EVERYTHING)
            return [one for one, end in at_end.items() if stable[one] < end]

        try:
            patience_s = PATIENCE_S + TRANSACTION_TIMEOUT_MS / 1000
            wait_for("no transaction is open", lambda: not stuck(), timeout_s=patience_s)
        except AssertionError:
            raise Broken(f"stuck: {stuck()}, ends were {at_end}") from None

    def _copied_once(self, fresh: Reader) -> int:
        client = consumer(self.cluster.bootstrap, COMMITTED, group_id=COPY)
        done = committed(client, TOPIC)
        client.close()
        outputs = Counter(value.partition("/")[0] for value in fresh.values[OUTPUT])
        if outputs != Counter(str(number) for number in range(done)):
            wrong = {key: count for key, count in outputs.items() if count != 1}
            raise Broken(f"{done} inputs are done, {len(outputs)} have outputs; not once: {wrong}")
        return done

    def _groups_got_everything(self, fresh: Reader) -> None:
        """Up to what the group committed: between two members nothing fell through."""
        for group in set(GROUPS.values()):
            name, _ = group
            client = consumer(self.cluster.bootstrap, COMMITTED, group_id=name)
            given: dict[Where, set[str]] = {}
            for process, reader in zip(GROUPS, self._group_readers, strict=True):
                if GROUPS[process] == group:
                    for where, values in reader.delivered.items():
                        given.setdefault(where, set()).update(values)
            for where in INPUT:
                position = committed(client, *where)
                missed = set(fresh.values[where][:position]) - given.get(where, set())
                if missed or not position:
                    raise Broken(f"{name} committed {position} of {where}, not given: {missed}")
            client.close()


def _dice(dice: random.Random) -> random.Random:
    """One's own: how often the others throw theirs depends on the clock."""
    return random.Random(dice.random())
