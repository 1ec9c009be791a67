"""The simulator checks itself: nodes with one lie built in, each of which must be caught.

A mutant replaces one thing in the node or under it. If some run keeps every promise in
spite of it, the checks are worth nothing there.
"""

from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Flushed
from kafkapy.core.turn import Turn
from kafkapy.kraft.log.metadata_log import MetadataLog
from kafkapy.log import recovery
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.log.flushing import Flushing
from kafkapy.log.names import CLEAN_SHUTDOWN_MARKER
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.producers.producer_state import ProducerEntry
from kafkapy.log.retention import Retention
from kafkapy.runtime.runtime import Runtime
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.runs.single_node import Failed, run_seed
from kafkapy.sim.world.disk import SimDisk

_MOST_SEEDS = 40

Mutant = Callable[[pytest.MonkeyPatch], None]


def acknowledges_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    """flush.messages=1 is acknowledged at once, like everything else."""
    patch.setattr(PartitionLog, "needs_flush_before_ack", property(lambda log: False))


def skips_the_flush(patch: pytest.MonkeyPatch) -> None:
    """The log says that it is flushed, and never asked the disk."""

    def flush(flushing: Flushing, then: Flushed) -> None:
        flushing._offsets.flushed = flushing._offsets.log_end
        then(None)

    patch.setattr(Flushing, "flush", flush)


def keeps_torn_tails(patch: pytest.MonkeyPatch) -> None:
    """Recovery believes every batch that has a header."""
    patch.setattr(recovery, "crc_is_valid", lambda *_: True)


def does_not_know_retries(patch: pytest.MonkeyPatch) -> None:
    """A batch that is sent again is appended again."""
    patch.setattr(ProducerEntry, "duplicate_of", lambda *_: None)
    patch.setattr(
        "kafkapy.log.producers.producer_state.ProducerStates.check", lambda *_, **__: None
    )


def forgets_to_remove_the_marker(patch: pytest.MonkeyPatch) -> None:
    """After a crash the log is taken for one that was shut down cleanly."""
    remove = SimDisk.remove

    def keep_marker(disk: SimDisk, path: str) -> None:
        if not path.endswith(CLEAN_SHUTDOWN_MARKER):
            remove(disk, path)

    patch.setattr(SimDisk, "remove", keep_marker)


def forgets_what_it_decided(patch: pytest.MonkeyPatch) -> None:
    """The metadata log counts as committed what was never flushed."""

    def flush(log: MetadataLog, then: Flushed) -> None:
        log.partition.offsets.flushed = log.end_offset
        then(None)

    patch.setattr(MetadataLog, "flush", flush)


def answers_before_the_commit(patch: pytest.MonkeyPatch) -> None:
    """Controller and coordinators say what they decided as soon as it is appended."""

    def answer(runtime: Runtime[Any, Any], answers: Any, uncommitted: Any) -> None:
        for then, reply in answers:
            then(reply)
        if uncommitted is not None:
            runtime._await_commit(uncommitted)

    patch.setattr(Runtime, "_answer", answer)


def deletes_too_early(patch: pytest.MonkeyPatch) -> None:
    """Retention by age takes whatever is sealed."""

    def by_age(retention: Retention, now: object) -> Any:
        return retention._oldest(lambda segment, next_base: next_base is not None)

    patch.setattr(Retention, "by_age", by_age)


def cleans_the_last_value(patch: pytest.MonkeyPatch) -> None:
    """The cleaner takes the newest record of a key for an old one."""
    put = OffsetMap.put
    patch.setattr(OffsetMap, "put", lambda offsets, key, offset: put(offsets, key, offset + 1))


def has_a_disk_that_lies(patch: pytest.MonkeyPatch) -> None:
    """A flush is answered and not done."""
    patch.setattr(SimDisk, "flush_data", lambda *_: None)


def acknowledges_before_the_write(patch: pytest.MonkeyPatch) -> None:
    """Answers leave as soon as they are there, and the turn writes what they promise later."""
    patch.setattr(Turn, "answer", lambda turn, send: send())


def answers_though_the_write_failed(patch: pytest.MonkeyPatch) -> None:
    """What a turn appended could not be written: the node knows, and its clients are told
    that it is there."""

    def write(turn: Turn) -> None:
        turn.settle()
        while turn._lost:
            turn.failed(turn._lost.pop(0))

    patch.setattr(Turn, "_write", write)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "mutant",
    [
        acknowledges_before_the_flush,
        skips_the_flush,
        keeps_torn_tails,
        does_not_know_retries,
        forgets_to_remove_the_marker,
        forgets_what_it_decided,
        answers_before_the_commit,
        deletes_too_early,
        cleans_the_last_value,
        has_a_disk_that_lies,
        acknowledges_before_the_write,
        answers_though_the_write_failed,
    ],
)
def test_a_node_with_a_lie_in_it_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    for seed in range(1, _MOST_SEEDS + 1):
        failed = _failure(seed)
        if failed is not None:
            assert isinstance(failed.cause, BrokenPromise | Corrupt), failed
            return
    pytest.fail(f"{_MOST_SEEDS} runs kept every promise, and the node {mutant.__name__}")


def _failure(seed: int) -> Failed | None:
    try:
        run_seed(seed)
    except Failed as failed:
        return failed
    return None
