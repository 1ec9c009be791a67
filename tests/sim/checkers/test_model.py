"""A toy Kafka that is right passes every checker; each way to break it is caught.

The toy keeps partitions as lists, decides transactions at once and can be told to make one
mistake. Histories of it are longer and more tangled than one would write by hand.
"""

from random import Random

import pytest

from kafkapy.sim.checkers import Outcome, Poll, Read, Send, check
from kafkapy.sim.checkers.history import Step
from tests.sim.checkers.samples import Recorder

PARTITIONS = ("a", "b", "c")


class ToyKafka:
    def __init__(self, seed: int, mistake: str | None) -> None:
        self.random = Random(seed)
        self.mistake = mistake
        # Each record: [value, is it visible to read_committed]; None for a marker.
        self.logs: dict[str, list[list[object] | None]] = {name: [] for name in PARTITIONS}
        self.positions: dict[tuple[int, str], int] = {}
        self.history = Recorder()
        self.count = 0

    def errs(self, mistake: str) -> bool:
        return self.mistake == mistake and self.random.random() < 0.3

    def append(self, partition: str, is_visible: bool) -> Send:
        self.count += 1
        log = self.logs[partition]
        value = f"v{self.count}"
        offset = len(log)
        if self.errs("loses what it acknowledged"):
            log.append(None)
            return Send(partition, value, offset)
        log.append([value, is_visible])
        if self.errs("writes a retry again"):
            log.append([value, is_visible])
        if self.errs("acknowledges a wrong offset"):
            offset = max(0, offset - 1)
        return Send(partition, value, offset)

    def plain(self, process: int) -> None:
        self.history.did(process, self.append(self.random.choice(PARTITIONS), True))

    def transaction(self, process: int) -> None:
        operation = self.history.invoke(process, is_transaction=True)
        outcome = self.random.choice([Outcome.OK, Outcome.OK, Outcome.FAIL, Outcome.INFO])
        commits = outcome is Outcome.OK or (outcome is Outcome.INFO and self.random.random() < 0.5)
        sends = [
            self.append(self.random.choice(PARTITIONS), self.errs("shows what is open"))
            for _ in range(self.random.randint(1, 4))
        ]
        if self.mistake == "shows what is open":
            self.poll(9)
        if outcome is not Outcome.FAIL:
            self.history.commit_invoked(operation)
        partitions = {str(send.partition) for send in sends}
        values = {send.value for send in sends}
        for partition in partitions:
            is_forgotten = self.errs("commits half a transaction")
            for record in self.logs[partition]:
                if record is not None and record[0] in values:
                    record[1] = commits and not is_forgotten
                    if not commits and self.errs("commits what was aborted"):
                        record[1] = True
            self.logs[partition].append(None)
        self.history.complete(operation, outcome, *sends)

    def poll(self, process: int) -> None:
        steps: list[Step] = []
        for partition in PARTITIONS:
            at = self.positions.get((process, partition), 0)
            if self.errs("sends a consumer back"):
                at = max(0, at - 2)
            log = self.logs[partition]
            end = min(len(log), at + self.random.randint(0, 6))
            reads = tuple(
                Read(offset, record[0])
                for offset, record in enumerate(log[at:end], at)
                if record is not None and record[1]
            )
            steps.append(Poll(partition, at, end, reads))
            self.positions[process, partition] = end
        self.history.did(process, *steps)

    def run(self, count: int) -> "ToyKafka":
        for _ in range(count):
            what = self.random.random()
            if what < 0.3:
                self.plain(1)
            elif what < 0.6:
                self.transaction(self.random.choice([2, 3]))
            else:
                self.poll(self.random.choice([4, 5]))
        return self


@pytest.mark.parametrize("seed", range(20))
def test_a_kafka_that_is_right_has_no_anomalies(seed: int) -> None:
    assert check(ToyKafka(seed, None).run(200).history) == []


@pytest.mark.parametrize(
    ("mistake", "kind"),
    [
        ("loses what it acknowledged", "lost write"),
        ("writes a retry again", "duplicate"),
        ("acknowledges a wrong offset", "inconsistent offsets"),
        ("shows what is open", "precommitted read"),
        ("commits what was aborted", "aborted read"),
        ("commits half a transaction", "torn transaction"),
        ("sends a consumer back", "nonmonotonic poll"),
    ],
)
def test_every_mistake_of_the_toy_is_caught(mistake: str, kind: str) -> None:
    found = check(ToyKafka(1, mistake).run(300).history)
    assert kind in {anomaly.kind for anomaly in found}
