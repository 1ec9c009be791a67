"""What a consumer sees of a view is what the expression holds for of what it sees of the source."""

from random import Random

import pytest

from kafkapy.expressions import compile_expression
from kafkapy.protocol.batches.batch import Codec, NewRecord
from tests.broker.views.reading import COMMITTED, UNCOMMITTED, Views

WHERE = "value like '*yes*' or key = '5'"
KEEPS_LITTLE = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "internal.segment.bytes": "2000",
    "segment.ms": "60000",
    "delete.retention.ms": "1000",
}
VALUES = [b"yes", b"no", b"no", b"no", b"no" * 200, None]
STEPS = ["plain"] * 4 + ["transactional"] * 3 + ["end"] * 2 + ["read"] * 2 + ["compact"]


class History:
    """Batches of all kinds, transactions open, committed and aborted, compaction in between; read
    from anywhere, with any room, again and again."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.views = Views(WHERE, KEEPS_LITTLE)
        self.open_transactions: set[int] = set()
        self.sequences: dict[int, int] = {}

    def step(self) -> None:
        match self.rng.choice(STEPS):
            case "plain":
                self.views.write(self.records(), codec=self.rng.choice(list(Codec)))
            case "transactional":
                self.write_in_transaction()
            case "end" if self.open_transactions:
                producer = self.rng.choice(sorted(self.open_transactions))
                self.views.mark(producer, is_commit=self.rng.random() < 0.5)
                self.open_transactions.discard(producer)
            case "read":
                end = self.views.partition().log.high_watermark
                self.compare(self.rng.randint(0, end), self.rng.choice([1, 300, 1 << 20]))
            case "compact":
                self.views.world.clock.advance(120_000)

    def records(self) -> list[NewRecord]:
        return [
            NewRecord(self.rng.choice([b"1", b"2", b"3", b"5"]), self.rng.choice(VALUES), 1_000)
            for _ in range(self.rng.randint(1, 8))
        ]

    def write_in_transaction(self) -> None:
        new, producer = self.records(), self.rng.randint(1, 3)
        self.views.write(
            new,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=self.sequences.get(producer, 0),
            is_transactional=True,
        )
        self.sequences[producer] = self.sequences.get(producer, 0) + len(new)
        self.open_transactions.add(producer)

    def compare(self, start: int, room: int) -> None:
        expression = compile_expression(WHERE)
        for isolation in (UNCOMMITTED, COMMITTED):
            start = min(start, self.views.partition().log.last_stable_offset)
            seen = self.views.consumed("orders", isolation, start=start)
            wanted = [one for one in seen if expression.holds(one, 0, "orders")]
            assert self.views.consumed("shown", isolation, start=start, max_bytes=room) == wanted


@pytest.mark.parametrize("seed", range(20))
def test_a_view_is_its_source_filtered(seed: int) -> None:
    history = History(seed)
    for _ in range(40):
        history.step()
    history.compare(0, 1 << 20)
    history.compare(0, 1)
    history.views.world.stop()
