"""Verification: what is asked, in which order, and what producers are told."""

from collections.abc import Sequence
from functools import partial

import pytest

from kafkapy.broker.transactions.verification import (
    Mode,
    ToAppend,
    Verified,
    mode_of_offset_commit,
    mode_of_produce,
    told,
)
from kafkapy.broker.transactions.verifier import VerificationSettings, Verifier
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import NO_NODE, TopicPartition
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.log.producers.producer_state import ProducerEntry, ProducerStates
from kafkapy.protocol.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from kafkapy.txn.events import (
    AddPartitions,
    DescribeTransaction,
    EndTransaction,
    InitProducerId,
    PartitionsVerified,
    TransactionDescribed,
    VerifyPartitions,
)
from tests.broker.transactions.fakes import Coordinating, FakeMarkers, FakeNetwork

A0, B1 = TopicPartition("a", 0), TopicPartition("b", 1)
ME, OTHER = 1, 2
E = ErrorCode


class Verifying(Coordinating):
    """A broker that coordinates "tx" itself, or asks node 2 when told so."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.network = FakeNetwork()
        self.coordinator_node = ME
        self.is_enabled = True
        self.producers = {one: ProducerStates(one) for one in (A0, B1)}
        self.answers: list[list[Verified]] = []
        self.verifier = Verifier(
            node_id=ME,
            clock=self.clock,
            other_nodes=self.network,
            coordinator=self.coordinator,
            coordinator_of=lambda _: self.coordinator_node,
            settings=VerificationSettings(is_enabled=lambda: self.is_enabled),
        )
        self.ask(InitProducerId("tx", 60_000))

    def verify(
        self, mode: Mode, *partitions: TopicPartition, epoch: int = 0, sequence: int = 0
    ) -> None:
        batches = [ToAppend(one, self.producers[one], 4000, epoch, sequence) for one in partitions]
        self.verifier.verify("tx", batches, mode, self.answered)

    def answered(self, results: Sequence[Verified]) -> None:
        self.answers.append(list(results))

    def last(self) -> list[object]:
        """The last answer: "go" for a guard, None, or the error code."""
        return [
            "go"
            if isinstance(one, VerificationGuard)
            else one.code
            if isinstance(one, Refused)
            else one
            for one in self.answers[-1]
        ]

    def reply(self, error: int) -> None:
        """Node 2 answers its oldest call for all that it was asked."""
        call = self.network.calls.pop(0)
        assert (call.node, call.api_key, call.version) == (OTHER, 24, 5)
        asked = decode_request(24, 5, encode_request(24, 5, call.body))
        body = {
            "results_by_transaction": [
                {
                    "transactional_id": one.transactional_id,
                    "topic_results": [
                        {
                            "name": topic.name,
                            "results_by_partition": [
                                {"partition_index": index, "partition_error_code": error}
                                for index in topic.partitions
                            ],
                        }
                        for topic in one.topics
                    ],
                }
                for one in asked.transactions
            ]
        }
        call.then(decode_response(24, 5, encode_response(24, 5, body)))


def test_the_version_of_a_request_decides_how_it_is_verified() -> None:
    assert [mode_of_produce(version) for version in (3, 10, 11, 12, 13)] == [
        Mode.VERIFY,
        Mode.VERIFY,
        Mode.VERIFY_ABORTABLE,
        Mode.ADD,
        Mode.ADD,
    ]
    assert [mode_of_offset_commit(version) for version in (0, 3, 4, 5)] == [
        Mode.VERIFY,
        Mode.VERIFY,
        Mode.VERIFY_ABORTABLE,
        Mode.ADD,
    ]


def test_a_producer_of_v1_may_write_to_what_it_added() -> None:
    one = Verifying()
    one.ask(AddPartitions("tx", 4000, 0, frozenset({A0})))
    one.verify(Mode.VERIFY, A0, B1)
    assert one.last() == ["go", E.INVALID_TXN_STATE]
    one.verify(Mode.VERIFY_ABORTABLE, A0, B1)
    assert one.last() == ["go", E.TRANSACTION_ABORTABLE]


def test_a_producer_of_v2_adds_partitions_by_writing() -> None:
    one = Verifying()
    one.verify(Mode.ADD, A0, B1)
    assert one.last() == ["go", "go"]
    described = one.ask(DescribeTransaction("tx"))
    assert isinstance(described, TransactionDescribed)
    assert described.partitions == frozenset({A0, B1})


def test_where_the_transaction_is_open_already_nobody_is_asked() -> None:
    one = Verifying()
    one.producers[A0].load([ProducerEntry(4000, 0, 0, 0, 17)], 18, one.clock.now())
    one.coordinator_node = NO_NODE
    one.verify(Mode.ADD, A0)
    assert one.last() == [None]


def test_an_older_epoch_is_refused_by_the_partition_itself() -> None:
    one = Verifying()
    one.producers[A0].load([ProducerEntry(4000, 5)], 18, one.clock.now())
    one.verify(Mode.ADD, A0, B1)
    assert one.last() == [E.INVALID_PRODUCER_EPOCH, "go"]


def test_verification_can_be_turned_off_but_adding_cannot() -> None:
    one = Verifying()
    one.is_enabled = False
    one.verify(Mode.VERIFY, A0)
    assert one.last() == ["go"], "a guard without a question, or the log refuses the batch"
    is_in = VerifyPartitions("tx", 4000, 0, frozenset({A0}))
    assert one.ask(is_in) == PartitionsVerified({A0: E.TRANSACTION_ABORTABLE})
    one.verify(Mode.ADD, A0)
    assert one.last() == ["go"]
    assert one.ask(is_in) == PartitionsVerified({A0: E.NONE})


@pytest.mark.parametrize(
    ("error", "verify", "abortable", "add"),
    [
        (E.NONE, E.NONE, E.NONE, E.NONE),
        (
            E.TRANSACTION_ABORTABLE,
            E.INVALID_TXN_STATE,
            E.TRANSACTION_ABORTABLE,
            E.TRANSACTION_ABORTABLE,
        ),
        (E.PRODUCER_FENCED, *[E.INVALID_PRODUCER_EPOCH] * 3),
        (E.INVALID_PRODUCER_ID_MAPPING, *[E.INVALID_PRODUCER_ID_MAPPING] * 3),
        (E.CLUSTER_AUTHORIZATION_FAILED, *[E.INVALID_TXN_STATE] * 3),
        (E.NETWORK_EXCEPTION, *[E.NOT_ENOUGH_REPLICAS] * 3),
        (E.COORDINATOR_LOAD_IN_PROGRESS, *[E.NOT_ENOUGH_REPLICAS] * 3),
        (E.COORDINATOR_NOT_AVAILABLE, *[E.NOT_ENOUGH_REPLICAS] * 3),
        (E.NOT_COORDINATOR, *[E.NOT_ENOUGH_REPLICAS] * 3),
        (
            E.CONCURRENT_TRANSACTIONS,
            E.NOT_ENOUGH_REPLICAS,
            E.NOT_ENOUGH_REPLICAS,
            E.CONCURRENT_TRANSACTIONS,
        ),
    ],
)
def test_producers_are_told_what_they_know_what_to_do_with(
    error: ErrorCode, verify: ErrorCode, abortable: ErrorCode, add: ErrorCode
) -> None:
    assert [told(error, mode) for mode in Mode] == [verify, abortable, add]


def test_a_new_transaction_waits_for_the_old_one_to_be_complete() -> None:
    one = Verifying(markers=FakeMarkers(at_once=False))
    one.verify(Mode.ADD, A0)
    one.ask(EndTransaction("tx", 4000, 0, True, 2))
    one.verify(Mode.ADD, B1, epoch=1)
    assert len(one.answers) == 1
    one.clock.advance(40)
    one.markers.write_all()
    one.clock.advance(20)
    assert one.last() == ["go"]


def test_it_does_not_wait_for_ever() -> None:
    one = Verifying(markers=FakeMarkers(at_once=False))
    one.verify(Mode.ADD, A0)
    one.ask(EndTransaction("tx", 4000, 0, True, 2))
    one.verify(Mode.ADD, B1, epoch=1)
    one.clock.advance(100)
    assert one.last() == [E.CONCURRENT_TRANSACTIONS]
    assert one.clock.pending == 0


def test_batches_of_one_transaction_are_confirmed_in_their_order() -> None:
    """While the first waits for the old transaction, the second must not overtake it."""
    one = Verifying(markers=FakeMarkers(at_once=False))
    one.verify(Mode.ADD, A0)
    one.ask(EndTransaction("tx", 4000, 0, True, 2))
    order: list[str] = []

    def note(name: str, _: Sequence[Verified]) -> None:
        order.append(name)

    for name, sequence in (("first", 0), ("second", 10), ("third", 20)):
        batch = ToAppend(A0, one.producers[A0], 4000, 1, sequence)
        one.verifier.verify("tx", [batch], Mode.ADD, partial(note, name))
    one.markers.write_all()
    assert order == []
    one.clock.advance(20)
    assert order == ["first", "second", "third"]


def test_no_coordinator_is_a_matter_of_time() -> None:
    one = Verifying()
    one.coordinator_node = NO_NODE
    one.verify(Mode.ADD, A0)
    assert one.last() == [E.NOT_ENOUGH_REPLICAS]
    one.coordinator_node = ME
    one.verify(Mode.ADD, A0)
    assert one.last() == ["go"]


@pytest.mark.parametrize(("mode", "verify_only"), [(Mode.ADD, False), (Mode.VERIFY, True)])
def test_another_coordinator_is_asked_over_the_network(mode: Mode, verify_only: bool) -> None:
    one = Verifying()
    one.coordinator_node = OTHER
    one.verify(mode, A0, B1)
    assert one.network.calls[0].body == {
        "transactions": [
            {
                "transactional_id": "tx",
                "producer_id": 4000,
                "producer_epoch": 0,
                "verify_only": verify_only,
                "topics": [
                    {"name": "a", "partitions": [0]},
                    {"name": "b", "partitions": [1]},
                ],
            }
        ]
    }
    assert one.answers == []
    one.reply(E.NONE)
    assert one.last() == ["go", "go"]


def test_a_coordinator_that_cannot_be_reached_or_forgets_to_answer() -> None:
    one = Verifying()
    one.coordinator_node = OTHER
    one.verify(Mode.ADD, A0)
    one.network.calls.pop().then(Refused(E.NETWORK_EXCEPTION))
    assert one.last() == [E.NOT_ENOUGH_REPLICAS]
    one.verify(Mode.ADD, A0)
    empty = encode_response(24, 5, {"results_by_transaction": []})
    one.network.calls.pop().then(decode_response(24, 5, empty))
    assert one.last() == [E.NOT_ENOUGH_REPLICAS]
    one.verify(Mode.ADD, A0)
    forbidden = encode_response(24, 5, {"error_code": E.CLUSTER_AUTHORIZATION_FAILED})
    one.network.calls.pop().then(decode_response(24, 5, forbidden))
    assert one.last() == [E.INVALID_TXN_STATE]


def test_an_error_that_a_newer_coordinator_has_of_its_own_is_an_unknown_one() -> None:
    broker = Verifying()
    broker.coordinator_node = OTHER
    broker.verify(Mode.VERIFY, A0)
    broker.reply(999)
    assert broker.last() == [E.UNKNOWN_SERVER_ERROR]
    broker.verify(Mode.VERIFY, A0)
    broker.reply(E.NONE)
    assert broker.last() == ["go"]


def test_another_coordinator_that_is_busy_is_asked_again() -> None:
    one = Verifying()
    one.coordinator_node = OTHER
    one.verify(Mode.ADD, A0)
    one.reply(E.CONCURRENT_TRANSACTIONS)
    assert one.answers == []
    one.clock.advance(20)
    one.reply(E.NONE)
    assert one.last() == ["go"]
