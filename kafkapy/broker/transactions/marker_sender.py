"""Sends the markers of prepared transactions to every partition's leader (formats/transactions 3).

    send {a-0, a-1, b-0} --+-- led here ----------> MarkerWriter         --+
                           +-- led by node 2 -----> WriteTxnMarkers v2   --+--> written {a-0}
                           +-- no such partition -> nothing to decide    --+    written {a-1, ...}
                           |  (or not yet: wait)                           |
           ^                                                               |
           +---- not now (no leader, moved, not enough replicas) <---------+

What fails is tried again, with the leaders as they are by then, for as long as this node
coordinates the transaction: `is_wanted` says so before every attempt. A partition that
knows a newer epoch of producer or coordinator has heard from a later coordinator than us;
then we are the zombie, and stop.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from kafkapy.broker.requests.translations import by_topic
from kafkapy.broker.transactions.batched_calls import BatchedCalls, Done, answered_code
from kafkapy.broker.transactions.marker_writer import Marker, MarkerWriter
from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import NO_NODE, TopicPartition
from kafkapy.core.seams import Clock, OtherNodes
from kafkapy.core.time import Instant, later
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.txn.markers import MarkersDue

VERSION: Final = 2
RETRY_BACKOFF_MS: Final = 100

_DONE: Final = frozenset(
    {
        ErrorCode.NONE,
        # A log that cannot hold markers holds no transactional data either.
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)
_ZOMBIE: Final = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)

Written = Callable[[frozenset[TopicPartition]], None]
Results = Mapping[TopicPartition, ErrorCode]


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    """One transaction's markers, until all are written or nobody wants them any more."""

    marker: Marker
    is_wanted: Callable[[], bool]
    then: Written
    asked_at: Instant


@dataclass(frozen=True, slots=True, eq=False)
class _Parcel:
    """The part of an order that goes to one node."""

    order: _Order
    partitions: frozenset[TopicPartition]


class MarkerSender:
    def __init__(
        self,
        *,
        node_id: int,
        clock: Clock,
        other_nodes: OtherNodes,
        writer: MarkerWriter,
        leader_of: Callable[[TopicPartition], int | None],
        may_come_ms: Callable[[TopicPartition], int] = lambda _: 0,
        request_timeout_ms: int = 30_000,
    ) -> None:
        """`leader_of`: NO_NODE if it has none now, None if there is no such partition;
        `may_come_ms`: for how long it is then taken for one that is not known here yet."""
        self._node_id = node_id
        self._clock = clock
        self._other_nodes = other_nodes
        self._writer = writer
        self._leader_of = leader_of
        self._may_come_ms = may_come_ms
        self._request_timeout_ms = request_timeout_ms
        self._remote: BatchedCalls[_Parcel] = BatchedCalls(self._call)

    def send(
        self,
        due: MarkersDue,
        coordinator_epoch: int,
        is_wanted: Callable[[], bool],
        then: Written,
    ) -> None:
        """`then` with some of the partitions at a time, until it has had all of them."""
        marker = Marker(
            due.producer_id,
            due.producer_epoch,
            coordinator_epoch,
            due.committed,
            due.transaction_version,
        )
        self._dispatch(_Order(marker, is_wanted, then, self._clock.now()), due.partitions)

    def _dispatch(self, order: _Order, partitions: Iterable[TopicPartition]) -> None:
        if not order.is_wanted():
            return
        by_leader: dict[int | None, set[TopicPartition]] = {}
        for partition in sorted(partitions):
            by_leader.setdefault(self._leader_of(partition), set()).add(partition)
        missing = by_leader.pop(None, ())
        deleted = frozenset(one for one in missing if not self._may_come(order, one))
        for leader, theirs in by_leader.items():
            parcel = _Parcel(order, frozenset(theirs))
            if leader == self._node_id:
                self._write_here(parcel)
            elif leader == NO_NODE:
                self._retry(parcel.order, parcel.partitions)
            else:
                assert leader is not None, "partitions that do not exist are taken out"
                self._remote.add(leader, parcel)
        if len(deleted) < len(missing):
            self._retry(order, frozenset(missing) - deleted)
        if deleted:
            order.then(deleted)

    def _may_come(self, order: _Order, partition: TopicPartition) -> bool:
        return self._clock.now() < later(order.asked_at, self._may_come_ms(partition))

    # Here

    def _write_here(self, parcel: _Parcel) -> None:
        results: dict[TopicPartition, ErrorCode] = {}

        def told(partition: TopicPartition, error: ErrorCode) -> None:
            results[partition] = error
            if len(results) == len(parcel.partitions):
                self._settle(parcel, results)

        # In order: a set's order is another in every process, and a run must be repeatable.
        for partition in sorted(parcel.partitions):
            self._writer.write(parcel.order.marker, partition, partial(told, partition))

    # On other nodes

    def _call(self, node: int, parcels: list[_Parcel], done: Done) -> None:
        wanted = [parcel for parcel in parcels if parcel.order.is_wanted()]
        if not wanted:
            done()
            return

        def answered(response: Any) -> None:
            failed = isinstance(response, Exception)
            results = {} if failed else _results(response)
            done()
            for parcel in wanted:
                producer_id = parcel.order.marker.producer_id
                theirs = {
                    # What was not answered, as after a broken connection, is tried again.
                    one: results.get((producer_id, one), ErrorCode.NETWORK_EXCEPTION)
                    for one in parcel.partitions
                }
                self._settle(parcel, theirs)

        body = {"markers": [_marker_fields(parcel) for parcel in wanted]}
        self._other_nodes.call(
            node,
            ApiKey.WRITE_TXN_MARKERS,
            VERSION,
            body,
            self._request_timeout_ms,
            answered,
        )

    # Everywhere

    def _settle(self, parcel: _Parcel, results: Results) -> None:
        written = frozenset(one for one, error in results.items() if error in _DONE)
        if written:
            parcel.order.then(written)
        if any(error in _ZOMBIE for error in results.values()):
            return
        if len(written) < len(results):
            self._retry(parcel.order, parcel.partitions - written)

    def _retry(self, order: _Order, partitions: frozenset[TopicPartition]) -> None:
        when = later(self._clock.now(), RETRY_BACKOFF_MS)
        self._clock.call_at(when, lambda: self._dispatch(order, partitions))


def _marker_fields(parcel: _Parcel) -> dict[str, Any]:
    marker = parcel.order.marker
    return {
        "producer_id": marker.producer_id,
        "producer_epoch": marker.producer_epoch,
        "transaction_result": marker.committed,
        "topics": [
            {"name": topic, "partition_indexes": indexes}
            for topic, indexes in by_topic(parcel.partitions)
        ],
        "coordinator_epoch": marker.coordinator_epoch,
        "transaction_version": marker.transaction_version,
    }


def _results(response: Any) -> dict[tuple[int, TopicPartition], ErrorCode]:
    return {
        (marker.producer_id, TopicPartition(topic.name, one.partition_index)): answered_code(
            one.error_code
        )
        for marker in response.markers
        for topic in marker.topics
        for one in topic.partitions
    }
