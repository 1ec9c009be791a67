"""What a busy producer sends again and again, recognised by its bytes.

All of a Produce but its correlation id and its records is, from one request to the next,
the same bytes. A connection remembers such beginnings of frames, each with what is decoded from
it and with the answer as far as it is always the same: neither is done again.

    | api, version | correlation id | client id, transactional id, acks, topic, index | ...
                                     \\----------------- remembered ----------------/
    ... size, records | 0 0 0 |

Only requests for one partition are remembered. What becomes of the records is `Partition.append`'s
to say, as ever, and any answer but the usual one is `Appending`'s. Where something else is to be
done first (the partition is not led here, the transaction is not open in it, there is no batch,
its topic has a hook)
nothing has been done, and the request is decoded as if there were no cache
(tests/broker/produce/test_frame_cache.py: the same bytes come back). What its producer may do was
asked when it was remembered, under the ACLs of then: under others it is decoded anew.
"""

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.produce.appending import ALL, Appending, may_use, may_write
from kafkapy.broker.quotas.client_quotas import Account, ClientQuotas
from kafkapy.broker.requests.request import Answer, Call, Encoded, Peer
from kafkapy.core.errors import Corrupt, DiskFailed, ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.log.append import AppendInfo, TooMuchAtOnce
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import (
    ATTRIBUTES_AT,
    TRANSACTIONAL_BIT,
    first_attributes,
    read_header,
)
from kafkapy.protocol.handwritten.produce_request import ProduceRequestView
from kafkapy.protocol.handwritten.produce_response import ProducedPartition, pack_produce_response

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import Appends

Pack = Callable[..., bytes]
# A producer with more partitions than this on one connection starts over now and then.
MOST_FRAMES: Final = 256
_PRODUCE: Final = ApiKey.PRODUCE.value
_HEAD: Final = Struct(">hhi").unpack_from
_HEAD_SIZE: Final = 8
_NO_ACLS: Final = 0
_SHORTEST: Final = 64  # a record batch is longer by itself
# The answer: size, correlation id, what is the same, three offsets, what is the same.
_ANSWER_HEAD_SIZE: Final = 8
_OFFSETS_SIZE: Final = 24


class KnownFrame:
    """One producer's requests to one partition. `body` is what is decoded from them, but for
    the records."""

    __slots__ = (
        "_before",
        "_pack",
        "_size",
        "_tail",
        "_version",
        "acl_version",
        "body",
        "client_id",
        "needs_all",
        "partition",
    )

    def __init__(
        self,
        version: int,
        client_id: str | None,
        body: ProduceRequestView,
        partition: Partition,
        acl_version: int,
    ) -> None:
        self.acl_version = acl_version
        self.client_id = client_id
        self.body = body
        self.partition = partition
        self.needs_all = body.acks == ALL
        self._version = version
        # Many connections send one request and no more: made for the second.
        self._pack: Pack | None = None
        self._size = self._before = self._tail = b""

    @property
    def index(self) -> int:
        return self.partition.topic_partition.partition

    def is_amid_transaction(self, records: memoryview) -> bool:
        """Whether the transaction they name is open in the partition."""
        if self.body.transactional_id is None or not _begin_a_batch(records):
            return False
        return self.partition.log.producers.is_amid(read_header(records))

    def answer(self, correlation_id: int, info: AppendInfo) -> bytes:
        pack = self._pack
        if pack is None:
            pack = self._prepare_answer()
        return pack(
            self._size,
            correlation_id,
            self._before,
            info.first_offset,
            info.log_append_time_ms,
            info.log_start_offset,
            self._tail,
        )

    def _prepare_answer(self) -> Pack:
        name, topic_id, _ = self.body.topics[0]
        known = 0x0123_4567_89AB_CDEF
        row = ProducedPartition(self.index, ErrorCode.NONE, known, -1, known)
        whole = pack_produce_response(self._version, 0, ((name, topic_id, (row,)),))
        at = whole.index(known.to_bytes(8, "big"))
        self._size = whole[:4]
        self._before = whole[_ANSWER_HEAD_SIZE:at]
        self._tail = whole[at + _OFFSETS_SIZE :]
        pack = self._pack = Struct(f">4si{len(self._before)}sqqq{len(self._tail)}s").pack
        return pack


class FrameCache:
    """Of one connection, and of requests of one version and client id. `lengths` are those of what
    is remembered: one for each length of topic name. `account` is what the last request of which
    somebody had to be asked was charged to, if there are quotas."""

    __slots__ = ("_call", "_client_id", "_frames", "_lengths", "_version", "_wall", "account")

    def __init__(self, peer: Peer) -> None:
        # Of whatever gets the usual answer: that is packed, so nobody asks for more.
        self._call: Call[Any] = Call(ApiKey.PRODUCE, -1, -1, None, None, peer, Instant(0))
        self._version = -1
        self._client_id: str | None = None
        self._wall = Instant(0)  # when the last request was served
        self.account: Account | None = None
        self._frames: dict[bytes, KnownFrame] = {}
        self._lengths: tuple[int, ...] = ()

    def serve(self, node: "Appends", request: memoryview) -> tuple[Call[Any], Answer] | None:
        """The answer, if the frame is known and nothing is to be done before it is appended."""
        api_key, version, correlation_id = _HEAD(request)
        if api_key != _PRODUCE or version != self._version:
            return None
        for length in self._lengths:
            start = _HEAD_SIZE + length
            frame = self._frames.get(request[_HEAD_SIZE:start].tobytes())
            if frame is not None:
                break
        else:
            return None
        authorizer = node.authorizer
        if authorizer is not None and authorizer.version != frame.acl_version:
            return None
        records = _records(request, start)
        if records is None:
            return None
        partition = frame.partition
        at_once = partition.is_written_at_once
        if not at_once and (not partition.is_leader or partition.hook is not None):
            return None
        if records[ATTRIBUTES_AT] & TRANSACTIONAL_BIT and not frame.is_amid_transaction(records):
            return None
        wall = self._wall = node.clock.wall()
        try:
            info = partition.append(records, needs_all=frame.needs_all, now=wall)
        except TooMuchAtOnce:
            call = self._call_of(frame, correlation_id, node.clock.now())
            appending = _appending(node, call)
            appending.examine(partition, records, None)
            return call, appending.answer()
        except (Refused, DiskFailed) as failed:
            if not _begin_a_batch(records):
                return None
            call = self._call_of(frame, correlation_id, node.clock.now())
            appending = _appending(node, call)
            appending.failed(frame.index, partition, failed)
            return call, appending.answer()
        if at_once:
            return self._call, Encoded((frame.answer(correlation_id, info),))
        call = self._call_of(frame, correlation_id, node.clock.now())
        appending = _appending(node, call)
        appending.appended(frame.index, partition, info)
        return call, appending.answer()

    def _call_of(self, frame: KnownFrame, correlation_id: int, now: Instant) -> Call[Any]:
        peer = self._call.peer
        return Call(_PRODUCE, self._version, correlation_id, frame.client_id, frame.body, peer, now)

    def is_charged(self, quotas: ClientQuotas, size: int, began: float) -> bool:
        """Whether what was just served is, hereby: without a look at who it is, nor at how late,
        because its client may still use much more than this (broker/quotas/rates.py)."""
        account = self.account
        if account is None:
            return False
        seconds = quotas.ticks() - began if account.time is not None else 0.0
        return account.takes_produce(size, seconds, Instant(self._wall + quotas.ahead_ms))

    def leads(self, version: int, key: bytes, partition: Partition, acl_version: int) -> bool:
        """Whether that is known: every transaction begins outside of the cache."""
        frame = self._frames.get(key)
        return (
            version == self._version
            and frame is not None
            and frame.partition is partition
            and frame.acl_version == acl_version
        )

    def add(self, version: int, key: bytes, frame: KnownFrame) -> None:
        client_id = frame.client_id
        if (
            version != self._version
            or client_id != self._client_id
            or len(self._frames) >= MOST_FRAMES
        ):
            self._version, self._frames, self._lengths = version, {}, ()
            self._client_id, self.account = client_id, None
            self._call.version, self._call.client_id = version, client_id
        self._frames[key] = frame
        self._lengths = tuple({*self._lengths, len(key)})


def _appending(node: "Appends", call: Call[ProduceRequestView]) -> Appending:
    appending = Appending(node, call, node.clock.wall())
    name, topic_id, _ = call.body.topics[0]
    appending.begin_topic(name, topic_id)
    return appending


def remember(
    node: "Appends", request: memoryview, body_at: int, call: Call[ProduceRequestView]
) -> None:
    """A request that the cache did not serve may be the first of its kind."""
    body: ProduceRequestView = call.body
    if body.records_at < 0 or body.acks not in (ALL, 1):
        return
    ((name, topic_id, ((index, _),)),) = body.topics
    partition = node.partitions.find(name, topic_id, index)
    if partition is None or partition.is_internal:
        return
    authorizer, acl_version = node.authorizer, _NO_ACLS
    if authorizer is not None:
        acl_version = authorizer.version
        peer, transactional_id = call.peer, body.transactional_id
        if not may_write(node, peer, name, topic_id) or not (
            transactional_id is None or may_use(node, peer, transactional_id)
        ):
            return
    frames = call.peer.frames
    if frames is None:
        frames = call.peer.frames = FrameCache(call.peer)
    key = bytes(request[_HEAD_SIZE : body_at + body.records_at])
    if not frames.leads(call.version, key, partition, acl_version):
        # Without the records: their buffer is read into again.
        known = ProduceRequestView(
            body.transactional_id, body.acks, body.timeout_ms, [(name, topic_id, [])]
        )
        frame = KnownFrame(call.version, call.client_id, known, partition, acl_version)
        frames.add(call.version, key, frame)


def _begin_a_batch(records: memoryview) -> bool:
    """What does not is refused as a whole request is, not as what a partition is asked."""
    try:
        return first_attributes(records) is not None
    except Corrupt:
        return False


def _records(request: memoryview, at: int) -> memoryview | None:
    """What fills the request from `at` to its end, if records do and nothing else."""
    end = len(request)
    if end - at < _SHORTEST or request[end - 1] or request[end - 2] or request[end - 3]:
        return None  # something else follows the records, or tags that are not empty
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
