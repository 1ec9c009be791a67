"""The transaction coordinator: answers when durable, markers when committed, all of it again
after a reload."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.txn.events import (
    AddPartitions,
    DescribeTransaction,
    EndDecided,
    EndTransaction,
    InitProducerId,
    ListTransactions,
    PartitionsAdded,
    ProducerInitialised,
    TransactionDescribed,
    TransactionListed,
)
from kafkapy.txn.transaction import TV_2
from tests.broker.transactions.fakes import Coordinating, FakeMarkers
from tests.coordinator.fakes import MemoryLog

A0, B1 = TopicPartition("a", 0), TopicPartition("b", 1)
NONE = ErrorCode.NONE
INIT = InitProducerId("tx", 60_000)
WEEK_MS = 7 * 86_400_000


def add(*partitions: TopicPartition, epoch: int = 0) -> AddPartitions:
    return AddPartitions("tx", 4000, epoch, frozenset(partitions), TV_2)


def end(committed: bool, epoch: int = 0) -> EndTransaction:
    return EndTransaction("tx", 4000, epoch, committed, TV_2)


def state_of(one: Coordinating) -> str:
    reply = one.ask(DescribeTransaction("tx"))
    assert isinstance(reply, TransactionDescribed)
    return reply.label


def test_a_transaction_from_first_to_last() -> None:
    one = Coordinating()
    assert one.ask(INIT) == ProducerInitialised(NONE, 4000, 0)
    assert one.ask(add(A0, B1)) == PartitionsAdded(NONE)
    assert one.ask(end(True)) == EndDecided(NONE, 4000, 1)
    (due,) = one.markers.sent
    assert (due.partitions, due.committed, due.producer_epoch) == (frozenset({A0, B1}), True, 1)
    assert state_of(one) == "CompleteCommit"


def test_the_answer_leaves_when_the_outcome_is_durable_and_markers_follow() -> None:
    log = MemoryLog(commits_at_once=False)
    one = Coordinating(log=log)
    answers: list[object] = []
    for event in (INIT, add(A0), end(True)):
        one.coordinator.submit(event, answers.append)
    assert (answers, one.markers.sent) == ([], [])
    log.commit()
    assert [type(answer) for answer in answers] == [
        ProducerInitialised,
        PartitionsAdded,
        EndDecided,
    ]
    assert len(one.markers.sent) == 1
    log.commit()
    assert state_of(one) == "CompleteCommit"


def test_the_next_transaction_waits_until_the_markers_are_written() -> None:
    one = Coordinating(markers=FakeMarkers(at_once=False))
    for event in (INIT, add(A0), end(True)):
        one.ask(event)
    assert one.ask(add(B1, epoch=1)) == PartitionsAdded(ErrorCode.CONCURRENT_TRANSACTIONS)
    one.markers.write_all()
    assert one.ask(add(B1, epoch=1)) == PartitionsAdded(NONE)


def test_an_abort_of_nothing_needs_no_markers() -> None:
    one = Coordinating()
    one.ask(INIT)
    assert one.ask(end(False)) == EndDecided(NONE, 4000, 1)
    assert (one.markers.sent, state_of(one)) == ([], "CompleteAbort")


def test_what_one_leader_prepared_the_next_one_finishes() -> None:
    one = Coordinating(markers=FakeMarkers(at_once=False))
    for event in (INIT, add(A0, B1), end(False)):
        one.ask(event)
    (stale,) = one.markers.orders
    one.lead()
    assert not stale.is_wanted()
    stale_order, order = one.markers.orders
    assert order.due == stale_order.due
    assert order.coordinator_epoch == stale_order.coordinator_epoch + 1
    one.markers.write_all()
    assert state_of(one) == "CompleteAbort"


def test_a_lost_append_is_answered_and_the_log_decides_what_happened() -> None:
    log = MemoryLog(commits_at_once=False)
    one = Coordinating(log=log)
    for event in (INIT, add(A0)):
        one.coordinator.submit(event)
        log.commit()
    answers: list[object] = []
    one.coordinator.submit(end(True), answers.append)
    log.lose(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    (refused,) = answers
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.NOT_COORDINATOR
    assert one.markers.sent == []
    one.clock.advance(1000)  # the shard reads its log again: the record is there
    log.commit()  # and is committed after all
    assert len(one.markers.sent) == 1


def test_a_complete_record_that_cannot_be_written_is_tried_again() -> None:
    one = Coordinating(markers=FakeMarkers(at_once=False))
    for event in (INIT, add(A0), end(True)):
        one.ask(event)
    one.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    one.markers.write_all()
    assert state_of(one) == "PrepareCommit"
    one.log.refusal = None
    one.clock.advance(500)
    assert state_of(one) == "CompleteCommit"


def test_a_producer_id_is_fetched_when_one_is_wanted_and_only_then() -> None:
    one = Coordinating()
    one.ask(INIT)
    one.ask(INIT)
    assert one.ids.next_id == 4001
    one.ids.refusal = Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert one.ask(InitProducerId("another", 60_000)) is one.ids.refusal


def test_what_takes_too_long_is_aborted_at_the_next_tick() -> None:
    one = Coordinating()
    one.coordinator.start()
    one.ask(INIT)
    one.ask(add(A0))
    one.clock.advance(59_000)
    assert state_of(one) == "Ongoing"
    one.clock.advance(12_000)
    assert state_of(one) == "CompleteAbort"
    assert one.ask(end(True)) == EndDecided(ErrorCode.INVALID_TXN_STATE)
    one.coordinator.close()
    assert one.clock.pending == 0


def test_ids_that_nobody_uses_are_forgotten() -> None:
    one = Coordinating()
    one.coordinator.start()
    for n in range(300):
        one.ask(InitProducerId(f"tx-{n}", 60_000))
    one.clock.advance(WEEK_MS + 3_600_000)
    listed: list[TransactionListed] = []
    one.coordinator.list(ListTransactions(), listed.extend)
    assert listed == []
    one.lead()
    one.coordinator.list(ListTransactions(), listed.extend)
    assert listed == []


def test_listing_waits_for_shards_that_are_loading() -> None:
    one = Coordinating()
    one.ask(INIT)
    one.coordinator.shards.lead(0, one.epoch + 1, one.log)
    if not list(one.coordinator.shards.active_shards()):
        with pytest.raises(Refused) as refused:
            one.coordinator.list(ListTransactions(), lambda _: None)
        assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    one.clock.run_soon()
    listed: list[TransactionListed] = []
    one.coordinator.list(ListTransactions(), listed.extend)
    assert listed == [TransactionListed("tx", 4000, "Empty")]


def test_who_leads_nothing_lists_nothing_and_coordinates_nothing() -> None:
    one = Coordinating()
    one.coordinator.shards.resign(0)
    listed: list[object] = []
    one.coordinator.list(ListTransactions(), listed.append)
    assert listed == [[]]
    refused = one.ask(INIT)
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.NOT_COORDINATOR


_moves = st.lists(
    st.sampled_from(
        ["init", "add", "commit", "abort", "replicate", "mark", "lose", "reload", "wait"]
    ),
    max_size=40,
)


@settings(max_examples=150)
@given(_moves)
def test_whatever_happens_what_was_prepared_is_finished(moves: list[str]) -> None:
    """Any order of requests, replication, lost appends, reloads and late markers."""
    one = Coordinating(log=MemoryLog(commits_at_once=False), markers=FakeMarkers(at_once=False))
    holder = (4000, 0)

    def learn(reply: object) -> None:
        nonlocal holder
        if isinstance(reply, ProducerInitialised | EndDecided) and not reply.error:
            holder = (reply.producer_id, reply.producer_epoch)

    for move in moves:
        match move:
            case "init":
                one.coordinator.submit(INIT, learn)
            case "add":
                one.coordinator.submit(AddPartitions("tx", *holder, frozenset({A0, B1}), TV_2))
            case "commit" | "abort":
                event = EndTransaction("tx", *holder, move == "commit", TV_2)
                one.coordinator.submit(event, learn)
            case "replicate":
                one.log.commit()
            case "mark":
                if one.markers.orders:
                    one.markers.write()
            case "lose":
                one.log.lose(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            case "reload":
                one.log.waiting.clear()
                one.lead()
            case "wait":
                one.clock.advance(70_000)
    for _ in range(4):  # calm: everything replicates, every marker arrives
        one.clock.advance(6_000)
        one.log.commit()
        one.markers.write_all()
        one.log.commit()
    assert state_of(one) in {"", "Empty", "Ongoing", "CompleteCommit", "CompleteAbort"}
