"""Groups in the simulator: seeds that pass, and mutants that must not.

More seeds: `python -m kafkapy.sim.runs.groups FIRST COUNT [--power]`.
"""

from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.broker.partitions.shard_log import PartitionShardLog
from kafkapy.core.ids import TopicPartition
from kafkapy.group import timing
from kafkapy.group.consumer import heartbeat
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.offsets import commit as offset_commit
from kafkapy.group.offsets.store import OffsetStore
from kafkapy.sim.promises.groups import GroupFacts
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.runs.groups import GroupsRun


@pytest.mark.parametrize("seed", range(1, 3))
def test_groups_keep_their_promises_when_the_process_is_killed(seed: int) -> None:
    run = GroupsRun(seed, deaths=3)
    run.go()
    assert run.classic.commits > 0
    assert run.consumer.commits > 0


def test_groups_keep_their_promises_when_the_power_goes() -> None:
    GroupsRun(3, deaths=3, loses_power=True).go()


def test_the_same_seed_is_the_same_run() -> None:
    first, second = (GroupsRun(7, deaths=2).go() for _ in range(2))
    assert first.trace.digest() == second.trace.digest()


def test_the_judge_knows_what_is_wrong() -> None:
    facts = GroupFacts("g")
    facts.hears("a", 3, {0, 1})
    facts.hears("b", 4, {0})
    with pytest.raises(BrokenPromise, match="in epoch 3 partition 1 was a's"):
        facts.hears("b", 3, {1})
    partition = TopicPartition("t", 0)
    facts.committed(partition, 5, 0)
    assert facts.acknowledged(partition) == 5
    facts.fetched(partition, 6, 5)
    with pytest.raises(BrokenPromise, match=r"said to be 4 .* 5 was acknowledged"):
        facts.fetched(partition, 4, 5)
    with pytest.raises(BrokenPromise, match=r"acknowledged of 4 .* 5 was acknowledged"):
        facts.committed(partition, 4, 5)


def test_the_judge_knows_an_answer_that_was_long_under_way() -> None:
    facts, partition = GroupFacts("g"), TopicPartition("t", 0)
    facts.committed(partition, 11, 9)
    facts.committed(partition, 10, 9)
    facts.fetched(partition, 9, 9)
    assert facts.acknowledged(partition) == 11


def gives_away_what_is_not_free(patch: pytest.MonkeyPatch) -> None:
    """A new member gets its partitions before their owner has given them up."""
    patch.setattr(ConsumerGroup, "is_free_for", lambda *_: True)


def takes_commits_of_anybody(patch: pytest.MonkeyPatch) -> None:
    """Neither epoch nor generation fences a commit."""
    patch.setattr(offset_commit, "check_commit", lambda *_, **__: None)
    patch.setattr(offset_commit, "check_committer", lambda *_, **__: None)


def forgets_offsets_when_it_loads(patch: pytest.MonkeyPatch) -> None:
    """What is replayed is not the last commit of each partition but the first."""
    commit = OffsetStore.commit

    def keep_first(store: OffsetStore, record: Any, producer_id: int | None = None) -> None:
        key, value = record
        standing = store.get(key.group, TopicPartition(key.topic, key.partition))
        if value is None or standing is None or value.commit_timestamp % 5:
            commit(store, record, producer_id)

    patch.setattr(OffsetStore, "commit", keep_first)


def acknowledges_what_it_does_not_write(patch: pytest.MonkeyPatch) -> None:
    """Every tenth batch of the coordinator is not in the log."""
    append = PartitionShardLog.append
    count = 0

    def losing(log: PartitionShardLog, batch: bytes, **checked: Any) -> int:
        nonlocal count
        count += 1
        if count % 10 == 0:
            return log.end_offset
        return append(log, batch, **checked)

    patch.setattr(PartitionShardLog, "append", losing)


def never_misses_anybody(patch: pytest.MonkeyPatch) -> None:
    """Sessions of consumers do not end: what the dead owned stays theirs."""
    patch.setattr(heartbeat, "expect_member", lambda *_: None)
    patch.setattr(timing, "expect_member", lambda *_: None)


@pytest.mark.parametrize(
    "mutate",
    [
        gives_away_what_is_not_free,
        takes_commits_of_anybody,
        forgets_offsets_when_it_loads,
        acknowledges_what_it_does_not_write,
        never_misses_anybody,
    ],
)
def test_a_coordinator_with_a_mistake_is_found_out(
    mutate: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        run_seeds(range(1, 9))


def run_seeds(seeds: range) -> None:
    for seed in seeds:
        GroupsRun(seed, deaths=2).go()
