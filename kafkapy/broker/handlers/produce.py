"""Produce, v3-13 (0-2 are advertised, as Kafka does for old librdkafka, and refused).

v8 adds record errors, v10 the current leader, v13 topic ids instead of names. What becomes of
the records: broker/produce/appending.py.
"""

from itertools import groupby
from typing import TYPE_CHECKING
from uuid import UUID

from kafkapy.broker.produce.appending import (
    ALL,
    NONE,
    Appending,
    answer_of,
    may_use,
    may_write,
    refused_row,
)
from kafkapy.broker.requests.request import Answer, Call, Later
from kafkapy.broker.transactions.verification import ToAppend, Verified, mode_of_produce
from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode, Refused
from kafkapy.protocol.batches.batch import TRANSACTIONAL_BIT, first_attributes, read_header
from kafkapy.protocol.handwritten.produce_request import ProduceRequestView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkapy.broker.requests.needs import Produces

# What is known of each partition's records, in the order of the request: the attributes of their
# first batch, if there is one.
Attributes = list[int | None]


def handle(node: "Produces", call: "Call[ProduceRequestView]") -> Answer:
    request: ProduceRequestView = call.body
    try:
        attributes, is_transactional = _look_at_all(request)
    except Corrupt as corrupt:
        return _refuse_all(call, ErrorCode.CORRUPT_MESSAGE, str(corrupt))
    if request.acks not in (ALL, NONE, 1):
        return _refuse_all(call, ErrorCode.INVALID_REQUIRED_ACKS)
    if is_transactional:
        return _Transactional(node, call).handle(attributes)
    appending = Appending(node, call, node.clock.wall())
    at = 0
    for name, topic_id, partitions in request.topics:
        appending.begin_topic(name, topic_id)
        for index, records in partitions:
            appending.append(index, records, attributes[at], None)
            at += 1
    return appending.answer()


def _look_at_all(request: ProduceRequestView) -> tuple[Attributes, bool]:
    """Whether one is of a transaction, too. Corrupt if one before that cannot be a batch of any
    format: Kafka finds that as it asks this question, and refuses the whole request."""
    attributes: Attributes = []
    is_transactional = False
    for _, _, partitions in request.topics:
        for _, records in partitions:
            first = None
            if records is not None:
                try:
                    first = first_attributes(records)
                except Corrupt:
                    if not is_transactional:
                        raise
            if first is not None and first & TRANSACTIONAL_BIT:
                is_transactional = True
            attributes.append(first)
    return attributes, is_transactional


class _Transactional:
    """Batches of a transaction are appended once its coordinator has confirmed that their
    partitions are in it (KIP-890; broker/transactions/verification.py). Until then they are
    kept here, copied: the buffer they came in is read into again."""

    def __init__(self, node: "Produces", call: "Call[ProduceRequestView]") -> None:
        self._node = node
        self._call = call
        self._later = Later()
        # (name, topic id, index, records, attributes, index into what is verified or None)
        self._rows: list[
            tuple[str | None, UUID | None, int, bytes | None, int | None, int | None]
        ] = []
        self._batches: list[ToAppend] = []

    def handle(self, attributes: Attributes) -> Answer:
        call = self._call
        request: ProduceRequestView = call.body
        if request.transactional_id is None or not may_use(
            self._node, call.peer, request.transactional_id
        ):
            return _refuse_all(call, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        at = 0
        for name, topic_id, partitions in request.topics:
            for index, records in partitions:
                self._note(name, topic_id, index, records, attributes[at])
                at += 1
        if len({(one.producer_id, one.producer_epoch) for one in self._batches}) > 1:
            return _refuse_all(call, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        mode = mode_of_produce(call.version)
        self._node.verification.verify(
            request.transactional_id, self._batches, mode, self._verified
        )
        return self._later

    def _note(
        self,
        name: str | None,
        topic_id: UUID | None,
        index: int,
        records: memoryview | bytes | None,
        attributes: int | None,
    ) -> None:
        at = None
        if (
            records is not None
            and attributes is not None
            and attributes & TRANSACTIONAL_BIT
            and may_write(self._node, self._call.peer, name, topic_id)
        ):
            first = read_header(records)
            try:
                partition = self._node.partitions.hosted(name, topic_id, index)
                partition.check_leader()
                batch = ToAppend(
                    partition.topic_partition,
                    partition.log.producers,
                    first.producer_id,
                    first.producer_epoch,
                    first.base_sequence,
                )
            except Refused:
                pass  # the append finds the same, and answers it
            except DiskFailed as failed:
                partition.disk_failed(failed)  # and the append finds it offline
            else:
                at = len(self._batches)
                self._batches.append(batch)
        kept = None if records is None else bytes(records)
        self._rows.append((name, topic_id, index, kept, attributes, at))

    def _verified(self, results: "Sequence[Verified]") -> None:
        appending = Appending(self._node, self._call, self._node.clock.wall())
        for (name, topic_id), rows in groupby(self._rows, key=lambda row: row[:2]):
            appending.begin_topic(name, topic_id)
            for _, _, index, records, attributes, at in rows:
                appending.append(index, records, attributes, None if at is None else results[at])
        answer = appending.answer()
        if isinstance(answer, Later):
            answer.when_resolved(lambda answered: self._later.resolve(answered.answer))
        else:
            self._later.resolve(answer)


def _refuse_all(
    call: "Call[ProduceRequestView]", code: ErrorCode, message: str | None = None
) -> Answer:
    request: ProduceRequestView = call.body
    return answer_of(
        call,
        [
            (name, topic_id, [refused_row(index, code, message=message) for index, _ in rows])
            for name, topic_id, rows in request.topics
        ],
    )
