"""Offsets of a streams group: who may commit and fetch them, and when they are forgotten."""

import pytest

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.group.lag import lag_of_group
from kafkapy.group.offsets.events import (
    CommitOffsetsInTransaction,
    Committer,
    DeleteOffsets,
    FetchOffsets,
    OffsetToCommit,
)
from tests.group.streams.client import StreamsClient, active, settle
from tests.group.world import GROUP, World

NONE = ErrorCode.NONE


@pytest.fixture
def world() -> World:
    made = World(streams_initial_rebalance_delay_ms=0)
    made.topics.create("orders", 4)
    return made


def test_members_commit_at_their_epoch_and_nobody_else_does(world: World) -> None:
    client = StreamsClient(world)
    client.beat()
    assert client.commit("orders", 0, 5).error is NONE
    assert client.commit("orders", 0, 5, epoch=client.epoch + 1).error is (
        ErrorCode.STALE_MEMBER_EPOCH
    )
    assert world.commit("orders", 0, 9).error is ErrorCode.UNKNOWN_MEMBER_ID
    old = client.commit("orders", 0, 5, speaks_of_groups=False)
    assert old.error is ErrorCode.UNSUPPORTED_VERSION
    assert world.committed("orders", 0, member_id=client.member_id, member_epoch=client.epoch) == 5


def test_a_member_behind_commits_for_the_tasks_it_had_all_along(world: World) -> None:
    first, second = StreamsClient(world), StreamsClient(world)
    first.beat()
    behind = first.epoch
    settle(world, [second, first])
    assert first.epoch > behind
    for task in range(4):
        expected = NONE if ("0", task) in active(first.told) else ErrorCode.STALE_MEMBER_EPOCH
        assert first.commit("orders", task, 5, epoch=behind).error is expected
    assert first.commit("returns", 0, 5, epoch=behind).error is ErrorCode.STALE_MEMBER_EPOCH


def test_commits_in_transactions_are_held_against_the_same_epochs(world: World) -> None:
    client = StreamsClient(world)
    client.beat()

    def commit(member_id: str, epoch: int) -> ErrorCode:
        offset = OffsetToCommit(TopicPartition("orders", 0), 7, -1, "", None)
        by = Committer(member_id, epoch, None)
        return world.ask(CommitOffsetsInTransaction(GROUP, by, (offset,), 1, 0, None)).error

    assert commit(client.member_id, client.epoch) is NONE
    assert commit("", -1) is NONE
    assert commit(client.member_id, client.epoch + 1) is ErrorCode.ILLEGAL_GENERATION
    assert commit("stranger", client.epoch) is ErrorCode.UNKNOWN_MEMBER_ID


def test_members_fetch_at_their_epoch(world: World) -> None:
    client = StreamsClient(world)
    client.beat()

    def fetch(member_id: str | None, epoch: int) -> ErrorCode:
        return world.ask(FetchOffsets(GROUP, None, member_id=member_id, member_epoch=epoch)).error

    assert fetch(client.member_id, client.epoch) is NONE
    assert fetch(None, -1) is NONE
    assert fetch(client.member_id, client.epoch - 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert fetch("stranger", 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_offsets_of_what_is_read_cannot_be_deleted(world: World) -> None:
    client = StreamsClient(world)
    client.beat()
    partitions = (TopicPartition("orders", 0), TopicPartition("returns", 0))
    errors = world.ask(DeleteOffsets(GROUP, partitions)).reply.errors
    assert errors == (ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, NONE)
    client.leave()
    assert world.ask(DeleteOffsets(GROUP, partitions)).reply.errors == (NONE, NONE)


def test_offsets_expire_after_the_members_and_the_group_with_them(world: World) -> None:
    client = StreamsClient(world)
    client.beat()
    client.commit("orders", 0, 5)
    world.configure(offsets_retention_ms=10 * 60_000)
    for _ in range(40):
        world.clock.advance(30_000)
        client.beat()
    assert world.committed("orders", 0) == 5
    client.leave()
    world.clock.advance(30 * 60_000)
    assert GROUP not in world.state.groups


def test_how_far_behind_a_group_is_names_who_has_the_task(world: World) -> None:
    client = StreamsClient(world)
    client.beat()
    client.commit("orders", 1, 5)
    figures = list(lag_of_group(GROUP, world.state, world.topics, lambda _: 8))
    assert [figure.member_id for figure in figures] == [client.member_id] * 4
    assert [figure.lag for figure in figures] == [None, 3, None, None]
