"""What a transaction shard can be asked or told, its answers, and its facts.

Events and answers never carry a request's version: handlers translate (and rename errors
for old clients). An answer names its error instead of being raised, because some errors
are answers of a step that did write: whoever fences a producer is told
CONCURRENT_TRANSACTIONS once the abort is durable.

Producer ids come from the controller, which takes time. A step that turns out to need one
changes nothing and answers `ProducerIdWanted`; the asker fetches one and asks again with it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition
from kafkapy.core.step import Loaded, TimerFired
from kafkapy.txn.states import TransactionState
from kafkapy.txn.transaction import NOT_STARTED, TV_0, Transaction

# --- facts ------------------------------------------------------------------------------


class TransactionLogged(NamedTuple):
    """A transactional id stands like this now."""

    transaction: Transaction


class TransactionForgotten(NamedTuple):
    """A transactional id was not used for so long that it is as if it never was."""

    transactional_id: str


class PartitionsMarked(NamedTuple):
    """Soft: these partitions have their marker. Lost with the leader, which sends all again."""

    transactional_id: str
    partitions: frozenset[TopicPartition]


Fact = TransactionLogged | TransactionForgotten | PartitionsMarked

# --- events -----------------------------------------------------------------------------


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    epoch: int


class InitProducerId(NamedTuple):
    """Give this id's producer an epoch of its own; abort what an earlier one left open."""

    transactional_id: str
    timeout_ms: int
    expected: ProducerIdAndEpoch | None = None
    fresh_producer_id: int = NO_PRODUCER_ID


class AddPartitions(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    client_version: int = TV_0


class VerifyPartitions(NamedTuple):
    """A broker asks before it appends: does this open transaction hold these partitions?"""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]


class EndTransaction(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    client_version: int = TV_0
    fresh_producer_id: int = NO_PRODUCER_ID


class AbortTimedOut(NamedTuple):
    """Fence the producer of a transaction that `FindTimedOut` named, if it is still open."""

    transactional_id: str
    fresh_producer_id: int = NO_PRODUCER_ID


class MarkersWritten(NamedTuple):
    """These partitions have the marker of this transaction (or do not need one).

    In v1 one epoch has many transactions; when it started tells them apart.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class FindTimedOut:
    pass


@dataclass(frozen=True, slots=True)
class ForgetExpired:
    """Forget ids that were at rest for longer than transactional.id.expiration.ms."""


class DescribeTransaction(NamedTuple):
    transactional_id: str


class ListTransactions(NamedTuple):
    """Empty filters and a negative duration let everything through."""

    states: frozenset[TransactionState] | None = None
    producer_ids: frozenset[int] = frozenset()
    longer_than_ms: int = -1


Event = (
    InitProducerId
    | AddPartitions
    | VerifyPartitions
    | EndTransaction
    | AbortTimedOut
    | MarkersWritten
    | FindTimedOut
    | ForgetExpired
    | DescribeTransaction
    | ListTransactions
    | Loaded
    | TimerFired
)

# --- answers ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProducerIdWanted:
    pass


class ProducerInitialised(NamedTuple):
    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class PartitionsAdded(NamedTuple):
    error: ErrorCode


class PartitionsVerified(NamedTuple):
    errors: Mapping[TopicPartition, ErrorCode]


class EndDecided(NamedTuple):
    """The id and epoch are for the client's next transaction (protocol v2)."""

    error: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class MarkersNoted(NamedTuple):
    is_complete: bool


class TimedOutFound(NamedTuple):
    transactional_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpiredForgotten:
    count: int
    has_more: bool


class TransactionDescribed(NamedTuple):
    error: ErrorCode
    transactional_id: str
    label: str = ""
    timeout_ms: int = 0
    started_ms: int = NOT_STARTED
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    partitions: frozenset[TopicPartition] = frozenset()


class TransactionListed(NamedTuple):
    transactional_id: str
    producer_id: int
    label: str


class TransactionsListed(NamedTuple):
    transactions: tuple[TransactionListed, ...]


Reply = (
    ProducerIdWanted
    | ProducerInitialised
    | PartitionsAdded
    | PartitionsVerified
    | EndDecided
    | MarkersNoted
    | TimedOutFound
    | ExpiredForgotten
    | TransactionDescribed
    | TransactionsListed
)
