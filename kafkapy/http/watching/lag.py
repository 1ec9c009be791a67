"""How far the groups that this node coordinates are behind: in records, in seconds, and whether it
grows. Looked at every http.lag.interval.ms; metrics, alerts and scalers read what was found.

    seconds behind   the age of the oldest record that is not committed as read: of its batch, by
                     the batch's first timestamp; 0 where nothing is left
    rate             records a second by which the lag grew (below 0: shrank) since the look before
    unread           of a partition that a member has and of which nothing is committed: what has
                     come since it was first seen so. Where the member began, its start or its
                     end, only the member knows (auto.offset.reset); behind it is by that at least

Ends and batches of partitions that are not on this node are asked of their leaders, under this
node's name: nobody's request is answered with them who was not judged first.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import trio

from kafkapy.core.errors import Corrupt, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.group.lag import LagFigure
from kafkapy.group.machine import GroupMachine
from kafkapy.http.kafka.client import VERSIONS
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.link import NodeLink
from kafkapy.kraft.views import partition_of
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import HEADER_SIZE, read_header
from kafkapy.protocol.messages import decode_response, encode_request

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from kafkapy.broker.node.broker_role import BrokerRole
    from kafkapy.http.site import Site

# So many figures at a time on the node's loop: some hundred microseconds.
_AT_ONCE: Final = 100
_ASK_MS: Final = 5000
_ANY_SIZE: Final = 1
# Groups that Apache Kafka's console consumer makes up for itself: it does not mean to commit.
_COMMITS_NOTHING: Final = re.compile(r"console-consumer-\d+")


class Lag(NamedTuple):
    """Of one group in one partition; `seconds` is None where the record could not be seen.
    `committed` is what it is counted from, whether or not that is committed."""

    group: str
    topic: str
    partition: int
    committed: int
    end: int
    seconds: float | None
    rate: float  # records a second by which it grows
    member: str | None
    # Since when (the node's clock, in ms) it has been committed there with records to read, by
    # what was looked at.
    stands_since_ms: int
    has_committed: bool = True

    @property
    def records(self) -> int:
        return max(0, self.end - self.committed)


class LagWatch:
    """`found` is replaced as a whole, by each look."""

    def __init__(self) -> None:
        self.found: tuple[Lag, ...] = ()
        self.members: dict[str, int] = {}
        self.looked_at_ms: int | None = None
        self._born: dict[tuple[TopicPartition, int], int] = {}
        # Where partitions ended when they were first seen with a member, and nothing committed.
        self._ended: dict[tuple[str, TopicPartition], int] = {}

    async def look(self, link: NodeLink) -> None:
        broker = link.node.broker
        if broker is None or not link.is_serving:
            return
        figures = [one async for one in _figures(link, broker)]
        members = await link.call(lambda: _members(broker))
        figures = [one for one in figures if _is_counted(one)]
        figures += await link.call(lambda: self._left(broker, figures, members))
        ends = await _ends_elsewhere(link, figures)
        now_ms, wall_ms = link.node.clock.now(), link.node.clock.wall()
        before = {(one.group, one.topic, one.partition): one for one in self.found}
        born: dict[tuple[TopicPartition, int], int] = {}
        ended: dict[tuple[str, TopicPartition], int] = {}
        found = []
        for one in figures:
            end = ends.get(one.partition) if one.end_offset is None else one.end_offset
            start, key = one.committed_offset, (one.group_id, one.partition)
            if end is None:
                if start is None and key in self._ended:
                    ended[key] = self._ended[key]
                continue
            if start is None:
                # A topic that was made anew begins anew.
                start = ended[key] = min(self._ended.get(key, end), end)
            where = one.partition, start
            seconds: float | None = 0.0
            if end > start:
                timestamp = self._born.get(where) or await _timestamp(link, *where)
                seconds = None
                if timestamp is not None:
                    born[where] = timestamp
                    seconds = max(0, wall_ms - timestamp) / 1000
            last = before.get((one.group_id, *one.partition))
            found.append(self._made(one, start, end, seconds, now_ms, last))
        self._born, self._ended = born, ended
        self.found, self.members, self.looked_at_ms = tuple(found), members, now_ms

    def _left(
        self, broker: "BrokerRole", figures: Sequence[LagFigure], members: Mapping[str, int]
    ) -> list[LagFigure]:
        """Partitions whose member has gone, and had committed nothing: who fails at its first
        record goes, and comes again. For as long as there is the group."""
        known = {(one.group_id, one.partition) for one in figures}
        found = []
        for group, where in sorted(self._ended.keys() - known):
            if group in members and partition_of(broker.image, *where) is not None:
                here = broker.partitions.shown(*where)
                end = None if here is None or here.is_offline else here.log.high_watermark
                found.append(LagFigure(group, where, None, end, None))
        return found

    def _made(
        self,
        one: LagFigure,
        committed: int,
        end: int,
        seconds: float | None,
        now_ms: int,
        last: Lag | None,
    ) -> Lag:
        since_ms, rate = now_ms, 0.0
        if last is not None and self.looked_at_ms is not None:
            if last.committed == committed and last.records:
                since_ms = last.stands_since_ms
            passed = (now_ms - self.looked_at_ms) / 1000
            if passed > 0:
                rate = (max(0, end - committed) - last.records) / passed
        topic, partition = one.partition
        return Lag(
            one.group_id,
            topic,
            partition,
            committed,
            end,
            seconds,
            rate,
            one.member_id,
            since_ms,
            has_committed=one.committed_offset is not None,
        )

    def of_group(self, group: str) -> list[Lag]:
        return [one for one in self.found if one.group == group]


def _is_counted(one: LagFigure) -> bool:
    if one.committed_offset is not None:
        return True
    return one.member_id is not None and _COMMITS_NOTHING.fullmatch(one.group_id) is None


def routes(site: "Site") -> "list[BaseRoute]":
    return []


async def run(site: "Site") -> None:
    while True:
        await site.lag.look(site.link)
        await trio.sleep(site.config.http_lag_interval_ms / 1000)


async def _figures(link: NodeLink, broker: "BrokerRole") -> Any:
    """A slice at a time: between two of them the node serves."""
    walk: Iterator[LagFigure] = await link.call(broker.group_lag)
    while True:
        some = await link.call(lambda: list(islice(walk, _AT_ONCE)))
        for one in some:
            yield one
        if len(some) < _AT_ONCE:
            return


def _members(broker: "BrokerRole") -> dict[str, int]:
    counts = {}
    for shard in broker.groups.active_shards():
        machine = shard.machine
        assert isinstance(machine, GroupMachine), machine
        for name, group in list(machine.state.groups.items()):
            members = getattr(group, "members", None)
            if callable(members):
                counts[name] = sum(1 for _ in members())
            elif members is not None:
                counts[name] = len(members)
    return counts


async def _ends_elsewhere(
    link: NodeLink, figures: Iterable[LagFigure]
) -> dict[TopicPartition, int]:
    """Of partitions of which this node has no replica."""
    wanted: dict[int, set[TopicPartition]] = {}
    for one in figures:
        if one.end_offset is None:
            state = partition_of(link.image, *one.partition)
            if state is not None and state.has_leader and state.leader != link.node.node_id:
                wanted.setdefault(state.leader, set()).add(one.partition)
    found: dict[TopicPartition, int] = {}

    async def ask(leader: int, partitions: set[TopicPartition]) -> None:
        topics: dict[str, list[dict[str, int]]] = {}
        for topic, index in sorted(partitions):
            row = {"partition_index": index, "current_leader_epoch": -1, "timestamp": -1}
            topics.setdefault(topic, []).append(row)
        body = {
            "replica_id": -1,
            "isolation_level": 0,
            "topics": [{"name": name, "partitions": rows} for name, rows in topics.items()],
            "timeout": _ASK_MS,
        }
        answer = await _ask(link, leader, ApiKey.LIST_OFFSETS, body)
        for topic_row in () if answer is None else answer.topics:
            for one in topic_row.partitions:
                if not one.error_code:
                    found[TopicPartition(topic_row.name, one.partition_index)] = one.offset

    async with trio.open_nursery() as nursery:
        for leader, partitions in wanted.items():
            nursery.start_soon(ask, leader, partitions)
    return found


async def _timestamp(link: NodeLink, partition: TopicPartition, offset: int) -> int | None:
    """Of the batch that has the record at `offset`, or the first after it."""
    broker = link.node.broker
    assert broker is not None, "groups are coordinated by brokers"
    here = broker.partitions.shown(*partition)
    data = b""
    if here is not None and not here.is_offline:

        def read() -> list[Any]:
            start = max(offset, here.log.log_start_offset)
            _, slices, _ = here.log.read(
                start, HEADER_SIZE, upper=here.log.high_watermark, min_one_batch=True
            )
            return list(slices)

        try:
            slices = await link.call(read)
        except Refused:
            return None
        try:
            data = slices[0].read() if slices else b""
        finally:
            await link.call(lambda: [one.release() for one in slices])
    else:
        data = await _fetched(link, partition, offset)
    try:
        return read_header(data).base_timestamp if len(data) >= HEADER_SIZE else None
    except Corrupt:
        return None


async def _fetched(link: NodeLink, partition: TopicPartition, offset: int) -> bytes:
    state = partition_of(link.image, *partition)
    if state is None or not state.has_leader:
        return b""
    asked = {
        "partition": partition.partition,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": _ANY_SIZE,
    }
    body = {
        "replica_id": -1,
        "max_wait": 0,
        "min_bytes": 0,
        "max_bytes": _ANY_SIZE,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": partition.topic, "partitions": [asked]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    answer = await _ask(link, state.leader, ApiKey.FETCH, body)
    if answer is None or answer.error_code:
        return b""
    return bytes(answer.responses[0].partitions[0].records or b"")


async def _ask(link: NodeLink, broker_id: int, api: ApiKey, body: dict[str, Any]) -> Any:
    """None if it could not be asked: it is looked again soon."""
    version = VERSIONS[api]
    packed = encode_request(api, version, body)
    try:
        view = await link.request_to(broker_id, api, version, packed, _ASK_MS)
    except KafkaError:
        return None
    return decode_response(api, version, view)
