"""The judges of what clients of a cluster did and saw, and the readers that tell them."""

from typing import Any

import pytest

from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.sim.checkers import Send
from kafkapy.sim.clients.committed_reader import visible
from kafkapy.sim.clients.exactly_once import judge_outputs
from kafkapy.sim.promises.cluster import ONLOOKER, judge_history
from kafkapy.sim.promises.partitions import BrokenPromise
from tests.sim.checkers.samples import INFO, Recorder, polled

PARTITION = TopicPartition("t", 0)


def test_what_was_sent_and_read_is_fine() -> None:
    history = Recorder()
    history.did(1, Send("a", "x", 0))
    history.did(1, Send("a", "y", None), outcome=INFO)
    history.did(ONLOOKER, polled("a", 0, "x", "y"))
    judge_history(history)


def test_what_nobody_sent_is_invented() -> None:
    history = Recorder()
    history.did(1, Send("a", "x", 0))
    history.did(ONLOOKER, polled("a", 0, "x", "z"))
    with pytest.raises(BrokenPromise, match="read 'z', and nobody sent it"):
        judge_history(history)


@pytest.mark.parametrize("there", [("x",), ()])
def test_what_was_acknowledged_is_lost_at_the_end_of_a_log_too(there: tuple[str, ...]) -> None:
    """No reader passes over it."""
    history = Recorder()
    history.did(1, Send("a", "x", 0), Send("a", "y", 1))
    if there:
        history.did(ONLOOKER, polled("a", 0, *there))
    with pytest.raises(BrokenPromise, match=f"the partition ends at {len(there)}"):
        judge_history(history)


def test_jepsens_list_is_asked() -> None:
    history = Recorder()
    history.did(1, Send("a", "x", 0), Send("a", "y", 1))
    history.did(ONLOOKER, polled("a", 0, None, "y"))
    with pytest.raises(BrokenPromise, match="1 anomalies\nlost write"):
        judge_history(history)


class Row:
    """A partition of a Fetch's answer."""

    def __init__(self, *batches: bytes) -> None:
        self.records = b"".join(batches)
        self.aborted_transactions: tuple[Any, ...] = ()


def _batch(base_offset: int, *values: bytes) -> bytes:
    data = build_batch([NewRecord(value=value, timestamp=0) for value in values])
    return base_offset.to_bytes(8, "big") + data[8:]


def test_a_reader_goes_on_where_it_was() -> None:
    row = Row(_batch(3, b"a", b"b", b"c"), _batch(6, b"d"))
    reads, position = visible(PARTITION, row, 4)
    assert [(one.offset, one.value) for one in reads] == [(4, "b"), (5, "c"), (6, "d")]
    assert position == 7


@pytest.mark.parametrize("row", [Row(_batch(5, b"a")), Row(_batch(4, b"a"), _batch(6, b"b"))])
def test_a_reader_notices_a_gap_before_a_batch(row: Row) -> None:
    with pytest.raises(BrokenPromise, match="a gap of t-0"):
        visible(PARTITION, row, 4)


def test_a_reader_notices_a_gap_in_a_batch() -> None:
    """As the cleaner leaves them, in a partition that it has no business in."""
    batch = bytearray(_batch(4, b"a", b"b"))
    batch[23:27] = (2).to_bytes(4, "big")  # the last offset's delta
    with pytest.raises(BrokenPromise, match=r"a gap of t-0 .* 2 records are 4 to 6"):
        visible(PARTITION, Row(bytes(batch)), 4)


@pytest.mark.parametrize("outputs", [("0/a",), ("0/a", "1/a", "1/b"), ("0/a", "1/a", "2/a")])
def test_each_input_that_is_done_has_one_output(outputs: tuple[str, ...]) -> None:
    judge_outputs(2, ["0/a", "1/b"])
    with pytest.raises(BrokenPromise, match="2 inputs are done"):
        judge_outputs(2, outputs)
