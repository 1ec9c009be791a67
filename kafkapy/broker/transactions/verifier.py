"""Asks the transaction coordinator before data is appended (verification.py has the words).

    batch, no open transaction --> guard --> ask --> confirmed --> append with the guard
    of this epoch here                        |
                                              +--> refused --> the client's error

One question per transactional id is under way at a time; what comes meanwhile waits its turn
and goes together. So batches of one producer are confirmed, and appended, in their order.
Another coordinator is asked with AddPartitionsToTxn, one request per node at a time.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from kafkapy.broker.requests.translations import by_topic
from kafkapy.broker.transactions.batched_calls import BatchedCalls, Done, answered_code
from kafkapy.broker.transactions.coordinator import TransactionCoordinator
from kafkapy.broker.transactions.verification import (
    SENTENCES,
    Errors,
    Mode,
    Question,
    ToAppend,
    Verified,
    told,
)
from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import NO_NODE, TopicPartition
from kafkapy.core.seams import Clock, OtherNodes
from kafkapy.core.time import Instant, later
from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.txn.events import AddPartitions, PartitionsAdded, PartitionsVerified, VerifyPartitions
from kafkapy.txn.transaction import TV_2

VERSION: Final = 5

Answered = Callable[[Errors], None]


@dataclass(frozen=True, slots=True)
class VerificationSettings:
    """add.partitions.to.txn.retry.backoff.ms and .max.ms, request.timeout.ms; and whether
    transaction.partition.verification.enable is set, now."""

    is_enabled: Callable[[], bool] = lambda: True
    retry_backoff_ms: int = 20
    retry_backoff_max_ms: int = 100
    request_timeout_ms: int = 30_000


@dataclass(slots=True, eq=False)
class _Asked:
    question: Question
    give_up_at: Instant
    then: Answered


class Verifier:
    def __init__(
        self,
        *,
        node_id: int,
        clock: Clock,
        other_nodes: OtherNodes,
        coordinator: TransactionCoordinator,
        coordinator_of: Callable[[str], int],
        settings: VerificationSettings | None = None,
    ) -> None:
        """`coordinator_of(transactional id)`: the node that leads its partition, or NO_NODE."""
        self._node_id = node_id
        self._clock = clock
        self._other_nodes = other_nodes
        self._coordinator = coordinator
        self._coordinator_of = coordinator_of
        self._settings = settings or VerificationSettings()
        # Those behind the one under way, by transactional id; empty while there are none.
        self._waiting: dict[str, list[_Asked]] = {}
        self._remote: BatchedCalls[_Asked] = BatchedCalls(self._call)

    def verify(
        self,
        transactional_id: str,
        batches: Sequence[ToAppend],
        mode: Mode,
        then: Callable[[Sequence[Verified]], None],
    ) -> None:
        """May these transactional batches of one producer be appended? Answers in their order.

        `then` runs at once when no question is needed or the coordinator is this node and
        its record is committed at once; else later, when the request's buffer is reused.
        """
        verified = [self._begin(batch, mode) for batch in batches]
        asked = [at for at, guard in enumerate(verified) if isinstance(guard, VerificationGuard)]
        if not asked or not (mode is Mode.ADD or self._settings.is_enabled()):
            # Where nobody is to be asked, the guards let the batches in as they are.
            then(verified)
            return

        def answered(errors: Errors) -> None:
            for at in asked:
                error = errors[batches[at].partition]
                if error:
                    verified[at] = Refused(error, SENTENCES.get(error))
            then(verified)

        first = batches[asked[0]]
        partitions = frozenset(batches[at].partition for at in asked)
        self.ask(
            Question(transactional_id, first.producer_id, first.producer_epoch, partitions, mode),
            answered,
        )

    def _begin(self, batch: ToAppend, mode: Mode) -> Verified:
        try:
            return batch.producers.begin_verification(
                batch.producer_id,
                batch.producer_epoch,
                batch.base_sequence,
                supports_epoch_bump=mode is Mode.ADD,
                now=self._clock.wall(),
            )
        except Refused as refused:
            return refused

    # One transactional id at a time

    def ask(self, question: Question, then: Answered) -> None:
        """`then` gets an error (or NONE) for each partition, in the client's words."""
        settings = self._settings
        patience = min(settings.retry_backoff_max_ms, settings.request_timeout_ms)
        asked = _Asked(question, later(self._clock.now(), patience), then)
        behind = self._waiting.get(question.transactional_id)
        if behind is not None:
            behind.append(asked)
            return
        self._waiting[question.transactional_id] = []
        self._put(asked)

    def _put(self, asked: _Asked) -> None:
        question = asked.question
        node = self._coordinator_of(question.transactional_id)
        if node == self._node_id:
            self._ask_here(asked)
        elif node == NO_NODE:
            self._answer(asked, _all(question, ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            self._remote.add(node, asked)

    def _answer(self, asked: _Asked, errors: Errors) -> None:
        question = asked.question
        if question.mode is Mode.ADD and ErrorCode.CONCURRENT_TRANSACTIONS in errors.values():
            # The client's previous transaction is being completed: a matter of milliseconds,
            # which is why the broker waits and not the client.
            again_at = later(self._clock.now(), self._settings.retry_backoff_ms)
            if again_at <= asked.give_up_at:
                self._clock.call_at(again_at, lambda: self._put(asked))
                return
        behind = self._waiting.pop(question.transactional_id)
        asked.then({one: told(error, question.mode) for one, error in errors.items()})
        for waiting in behind:
            self.ask(waiting.question, waiting.then)

    # Here

    def _ask_here(self, asked: _Asked) -> None:
        question = asked.question

        def answered(reply: Any) -> None:
            match reply:
                case PartitionsVerified(errors):
                    self._answer(asked, errors)
                case PartitionsAdded(error):
                    self._answer(asked, _all(question, error))
                case _:
                    assert isinstance(reply, Refused), reply
                    self._answer(asked, _all(question, reply.code))

        of = (question.transactional_id, question.producer_id, question.producer_epoch)
        if question.mode is Mode.ADD:
            event = AddPartitions(*of, question.partitions, client_version=TV_2)
            self._coordinator.submit(event, answered)
        else:
            self._coordinator.submit(VerifyPartitions(*of, question.partitions), answered)

    # Another node

    def _call(self, node: int, asked: list[_Asked], done: Done) -> None:
        def answered(response: Any) -> None:
            errors = _errors_by_transaction(response)
            done()
            for one in asked:
                question = one.question
                if isinstance(errors, ErrorCode):
                    self._answer(one, _all(question, errors))
                else:
                    theirs = errors.get(question.transactional_id, {})
                    self._answer(one, {**_all(question, ErrorCode.NETWORK_EXCEPTION), **theirs})

        self._other_nodes.call(
            node,
            ApiKey.ADD_PARTITIONS_TO_TXN,
            VERSION,
            {"transactions": [_transaction_fields(one.question) for one in asked]},
            self._settings.request_timeout_ms,
            answered,
        )


def _all(question: Question, error: ErrorCode) -> dict[TopicPartition, ErrorCode]:
    return dict.fromkeys(question.partitions, error)


def _errors_by_transaction(
    response: Any,
) -> ErrorCode | dict[str, dict[TopicPartition, ErrorCode]]:
    if isinstance(response, Exception):
        return ErrorCode.NETWORK_EXCEPTION
    if response.error_code:
        return answered_code(response.error_code)
    return {
        transaction.transactional_id: {
            TopicPartition(topic.name, one.partition_index): answered_code(one.partition_error_code)
            for topic in transaction.topic_results
            for one in topic.results_by_partition
        }
        for transaction in response.results_by_transaction
    }


def _transaction_fields(question: Question) -> dict[str, Any]:
    return {
        "transactional_id": question.transactional_id,
        "producer_id": question.producer_id,
        "producer_epoch": question.producer_epoch,
        "verify_only": question.mode is not Mode.ADD,
        "topics": [
            {"name": topic, "partitions": partitions}
            for topic, partitions in by_topic(question.partitions)
        ],
    }
