"""What a busy producer sends again and again, served without decoding it again.

All of a Produce but its correlation id and its records is, from one request to the next,
the same bytes: such bytes are a lane. A connection remembers the lanes it has seen, each
with the partition it leads to and the answer as far as it is always the same.

    | api, version | correlation id | client id, transactional id, acks, topic, index | ...
                                     \\------------------ the lane ------------------/
    ... size, records | 0 0 0 |

Only requests for one partition go this way, only batches of the plain kind
(log/plain_batch.py), those of a transaction only once it is open in the partition, and only
where writing is all that the acknowledgement waits for.
Everything else, every refusal included, is `handlers/produce.py`'s: a lane that cannot
serve has done nothing, and the request is decoded as if there were no lanes
(tests/broker/produce/test_lanes.py: the same bytes come back).
"""

from struct import Struct
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.requests.request import Call, Encoded, Peer
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.produce_request import ProduceRequestView
from kafkapy.protocol.produce_response import ProducedPartition, pack_produce_response

if TYPE_CHECKING:
    from kafkapy.broker.node.broker_role import BrokerRole

# A producer with more partitions than this on one connection starts over now and then.
MOST_LANES: Final = 256
_LANE_AT: Final = 8
_PRODUCE: Final = ApiKey.PRODUCE.value
_HEAD: Final = Struct(">hhi").unpack_from
_NO_TAGS: Final = b"\0\0\0"
_SHORTEST: Final = 64  # a record batch is longer by itself
# The answer: size, correlation id, what is the same, three offsets, what is the same.
_ANSWER_HEAD_SIZE: Final = 8
_OFFSETS_SIZE: Final = 24
_NO_TIME: Final = -1


class Lane:
    """One producer's way to one partition."""

    __slots__ = ("_before", "_pack", "_size", "_tail", "is_of_transaction", "partition")

    def __init__(
        self,
        version: int,
        partition: Partition,
        name: str | None,
        topic_id: UUID | None,
        *,
        is_of_transaction: bool = False,
    ) -> None:
        self.partition = partition
        self.is_of_transaction = is_of_transaction
        known = 0x0123_4567_89AB_CDEF
        index = partition.topic_partition.partition
        row = ProducedPartition(index, ErrorCode.NONE, known, _NO_TIME, known)
        whole = pack_produce_response(version, 0, ((name, topic_id, (row,)),))
        at = whole.index(known.to_bytes(8, "big"))
        self._size = whole[:4]
        self._before = whole[_ANSWER_HEAD_SIZE:at]
        self._tail = whole[at + _OFFSETS_SIZE :]
        self._pack = Struct(f">4si{len(self._before)}sqqq{len(self._tail)}s").pack

    def answer(self, correlation_id: int, base_offset: int) -> bytes:
        return self._pack(
            self._size,
            correlation_id,
            self._before,
            base_offset,
            _NO_TIME,
            self.partition.log.log_start_offset,
            self._tail,
        )


class ProduceLanes:
    """Of one connection. `lengths` are those of its lanes: one for each length of topic name."""

    __slots__ = ("_call", "_lanes", "_lengths", "_version")

    def __init__(self, peer: Peer) -> None:
        # Of whatever is served here: its answer is packed, so nobody asks for more.
        self._call = Call(ApiKey.PRODUCE, -1, -1, None, None, peer, Instant(0))
        self._version = -1
        self._lanes: dict[bytes, Lane] = {}
        self._lengths: tuple[int, ...] = ()

    def serve(self, node: "BrokerRole", request: memoryview) -> tuple[Call[Any], Encoded] | None:
        """The answer, if the request is in a lane and nothing is in its way."""
        api_key, version, correlation_id = _HEAD(request)
        if api_key != _PRODUCE or version != self._version:
            return None
        for length in self._lengths:
            start = _LANE_AT + length
            lane = self._lanes.get(request[_LANE_AT:start].tobytes())
            if lane is not None:
                break
        else:
            return None
        records = _records(request, start)
        if records is None:
            return None
        try:
            base_offset = lane.partition.append_plain(
                records, node.clock.wall(), may_be_transactional=lane.is_of_transaction
            )
        except Refused:
            return None
        except DiskFailed as failed:
            node.directory_failed(failed)
            return None
        if base_offset is None:
            return None
        return self._call, Encoded((lane.answer(correlation_id, base_offset),))

    def leads(self, version: int, key: bytes, partition: Partition) -> bool:
        """Whether the lane is known: every transaction begins outside of it."""
        lane = self._lanes.get(key)
        return version == self._version and lane is not None and lane.partition is partition

    def add(self, version: int, key: bytes, lane: Lane) -> None:
        if version != self._version or len(self._lanes) >= MOST_LANES:
            self._version, self._lanes, self._lengths = version, {}, ()
            self._call.version = version
        self._lanes[key] = lane
        self._lengths = tuple({*self._lengths, len(key)})


def learn(node: "BrokerRole", request: memoryview, body_at: int, call: Call[Any]) -> None:
    """A request that no lane served may be the first of one."""
    body: ProduceRequestView = call.body
    if body.records_at < 0 or body.acks == 0:
        return
    ((name, topic_id, ((index, _),)),) = body.topics
    partition = node.partitions.find(name, topic_id, index)
    if partition is None or not partition.takes_plain_batches:
        return
    lanes = call.peer.lanes
    if lanes is None:
        lanes = call.peer.lanes = ProduceLanes(call.peer)
    key = bytes(request[_LANE_AT : body_at + body.records_at])
    if not lanes.leads(call.version, key, partition):
        is_of_transaction = body.transactional_id is not None
        lane = Lane(call.version, partition, name, topic_id, is_of_transaction=is_of_transaction)
        lanes.add(call.version, key, lane)


def _records(request: memoryview, at: int) -> memoryview | None:
    """What fills the request from `at` to its end, if records do and nothing else."""
    end = len(request)
    if end - at < _SHORTEST or request[end - 3 :].tobytes() != _NO_TAGS:
        return None
    size = request[at]
    start = at + 1
    if size > 0x7F:
        more = request[start]
        size += (more << 7) - 0x80
        start += 1
        if more > 0x7F:
            more = request[start]
            size += (more << 14) - 0x4000
            start += 1
            if more > 0x7F:
                more = request[start]
                size += (more << 21) - 0x20_0000
                start += 1
                if more > 0x7F:
                    return None
    end -= 3
    return request[start:end] if size - 1 == end - start else None
