"""A follower's session at its leader: it costs what goes on, and it tells of all that does."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.fetch import reading
from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.partitions.partitions import Partitions
from kafkapy.broker.replication import serving
from kafkapy.broker.replication.serving import MOST_SESSIONS_OF_ONE, ReplicaSessions
from kafkapy.broker.requests.request import Call, Encoded, Later, Peer
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.core.turn import Turn
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.framing import read_response_head
from kafkapy.protocol.handwritten.fetch_request import FetchRequestView
from kafkapy.protocol.handwritten.replica_fetch import (
    FetchedRow,
    ReplicaAnswer,
    read_replica_answer,
)
from kafkapy.sim.world.rng import SimRng
from tests.broker.partitions.in_memory import TOPIC_ID, FakeReplication, open_partition
from tests.coordinator.fakes import FakeClock

VERSION = 17
FOLLOWER, EPOCH = 2, 9
COUNT = 20


class Kit:
    """Twenty partitions that node 1 leads, and a follower of them all."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.turn = Turn()
        self.sessions = ReplicaSessions(SimRng(3))
        self.parts = [self._led(index) for index in range(COUNT)]
        self.node: Any = SimpleNamespace(
            clock=self.clock,
            turn=self.turn,
            partitions=self._all_partitions(),
            config=SimpleNamespace(fetch_max_bytes=1 << 20),
            directory_failed=None,
        )
        self.peer = Peer("PLAINTEXT", "h")
        self.session = (0, 0)
        self.throttle = _Throttle()

    def _led(self, index: int) -> Partition:
        partition = open_partition(TopicPartition("t", index), clock=self.clock)
        partition.follow_metadata(PartitionState((1, 2), (1, 2), 1, 2, 2, (UUID(int=1),) * 2))
        return partition

    def _all_partitions(self) -> Partitions:
        """Compiled, a reader takes nothing else for them. The metadata knows of no topic."""
        nothing: Any = None
        partitions = Partitions(1, self.clock, MetadataImage, nothing, nothing, nothing, nothing)
        for index, partition in enumerate(self.parts):
            partitions._by_id[TOPIC_ID, index] = partition
        return partitions

    def replication(self, index: int) -> FakeReplication:
        found = self.parts[index]._replication
        assert isinstance(found, FakeReplication)
        return found

    def proposals(self, index: int) -> list[tuple[int, ...]]:
        return [isr for isr, _ in self.replication(index).proposed]

    def produce(self, index: int, value: bytes = b"v") -> None:
        batch = build_batch([NewRecord(value=value, timestamp=self.clock.wall())])
        self.parts[index].append(memoryview(batch))

    def ask(
        self,
        rows: list[tuple[int, int]],
        *,
        wait_ms: int = 500,
        forgotten: tuple[int, ...] = (),
        max_bytes: int = 1 << 20,
    ) -> Any:
        """`rows` are (index, offset). The answer, or a Later."""
        request = FetchRequestView(
            FOLLOWER,
            wait_ms,
            1,
            max_bytes,
            0,
            *self.session,
            [(None, TOPIC_ID, [(index, 2, offset, -1, 0, 1 << 20) for index, offset in rows])],
            [(None, TOPIC_ID, forgotten)] if forgotten else (),
            EPOCH,
        )
        call = Call(ApiKey.FETCH, VERSION, 1, None, request, self.peer, self.clock.now())
        answer = self.sessions.fetch(self.node, call)
        if isinstance(answer, Later) and not answer.is_resolved:
            return answer
        return self.read(answer)

    def read(self, answer: Any) -> ReplicaAnswer:
        if isinstance(answer, Later):
            answer = answer.answer
        assert isinstance(answer, Encoded)
        data = b"".join(part if isinstance(part, bytes) else part.read() for part in answer.parts)
        view = memoryview(data)[4:]
        _, at = read_response_head(ApiKey.FETCH, VERSION, view)
        found = read_replica_answer(view[at:])
        if found.error_code == 0:
            self.session = (found.session_id, self.session[1] + 1)
        return found

    def begin(self) -> None:
        self.read(self.wait(self.ask([(index, 0) for index in range(COUNT)])))

    def wait(self, later: Later) -> Later:
        self.clock.advance(500)
        assert later.is_resolved
        return later


def rows(answer: ReplicaAnswer) -> dict[int, FetchedRow]:
    return {row.partition: row for _, found in answer.topics for row in found}


@pytest.fixture
def kit() -> Kit:
    return Kit()


def test_what_is_appended_while_it_waits_is_told_at_once_and_alone(kit: Kit) -> None:
    kit.begin()
    later = kit.ask([])
    assert isinstance(later, Later)
    kit.produce(7)
    assert later.is_resolved
    assert {index: bool(row.records) for index, row in rows(kit.read(later)).items()} == {7: True}


def test_what_was_appended_between_two_fetches_is_told_by_the_next(kit: Kit) -> None:
    kit.begin()
    kit.produce(3)
    kit.produce(5)
    assert sorted(rows(kit.ask([]))) == [3, 5]
    assert isinstance(kit.ask([]), Later)


@pytest.mark.interpreted  # replaces a part of the module
def test_a_request_looks_at_what_it_names_and_at_what_has_news(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    real = reading.read_partition

    def counted(node: Any, request: Any, wanted: Any, *args: Any, **named: Any) -> Any:
        looked.append(wanted.index)
        return real(node, request, wanted, *args, **named)

    kit.begin()
    monkeypatch.setattr(serving, "read_partition", counted)
    later = kit.ask([(4, 0)])
    kit.produce(9)
    kit.read(later)
    assert looked == [4, 9]


def test_a_fetch_says_how_far_the_follower_is_and_so_commits(kit: Kit) -> None:
    kit.begin()
    kit.produce(1)
    assert kit.parts[1].log.high_watermark == 0
    kit.ask([(1, 1)])
    assert kit.parts[1].log.high_watermark == 1


def test_a_high_watermark_that_moved_waits_for_the_next_answer(kit: Kit) -> None:
    kit.begin()
    kit.produce(1)
    later = kit.ask([(1, 1)])
    assert not later.is_resolved
    kit.wait(later)
    assert rows(kit.read(later))[1].high_watermark == 1


def test_what_does_not_fit_is_told_next_time(kit: Kit) -> None:
    kit.begin()
    for index in range(6):
        kit.produce(index, b"x" * 1000)
    told: set[int] = set()
    for _ in range(6):
        found = kit.ask([(index, 1) for index in told], max_bytes=2000, wait_ms=0)
        told |= {index for index, row in rows(found).items() if row.records}
    assert told == set(range(6))


@pytest.mark.interpreted  # replaces a part of the module
def test_the_first_answer_names_everything_whether_it_has_room_or_not(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower of Apache Kafka's throws away one that does not, and asks the same again."""
    monkeypatch.setattr(serving, "MOST_ROWS", 8)
    for index in range(6):
        kit.produce(index, b"x" * 1000)
    first = rows(kit.ask([(index, 0) for index in range(COUNT)], max_bytes=2000))
    assert first.keys() == set(range(COUNT))
    assert {index for index, row in first.items() if row.records} == {0}
    assert not any(row.error_code for row in first.values())
    told = {0}
    for _ in range(5):
        found = kit.ask([(index, 1) for index in told], max_bytes=2000, wait_ms=0)
        told |= {index for index, row in rows(found).items() if row.records}
    assert told == set(range(6)), "the rest follows, in order"


def test_the_first_answer_names_what_is_throttled_without_its_records(throttled: Kit) -> None:
    throttled.session = (0, 0)
    throttled.produce(0)
    first = rows(throttled.read(throttled.wait(throttled.ask([(0, 0), (1, 0)]))))
    assert first.keys() == {0, 1}
    assert not first[0].records


def test_who_is_not_led_here_any_more_is_told_so_at_once(kit: Kit) -> None:
    kit.begin()
    later = kit.ask([])
    kit.parts[2].follow_metadata(PartitionState((1, 2), (1, 2), 2, 3, 3, (UUID(int=1),) * 2))
    assert later.is_resolved
    assert rows(kit.read(later))[2].error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_what_is_unknown_is_answered_at_once(kit: Kit) -> None:
    kit.begin()
    found = kit.ask([(COUNT + 1, 0)])
    assert rows(found)[COUNT + 1].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_who_is_no_replica_yet_is_told_so_and_heard_once_it_is_one(kit: Kit) -> None:
    """It may hear sooner than its leader that it is to be one. An answer without an error would
    be the last that either says of a partition in which nothing goes on."""
    for part in kit.parts:
        part.follow_metadata(PartitionState((1, 3), (1,), 1, 2, 3, (UUID(int=1),) * 2))
    found = rows(kit.ask([(7, 0)]))
    assert found[7].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    kit.parts[7].follow_metadata(PartitionState((1, 3, 2), (1,), 1, 2, 4, (UUID(int=1),) * 3))
    kit.ask([(7, 0)])
    assert kit.proposals(7)[-1] == (1, 2)


def test_what_is_forgotten_is_watched_no_more(kit: Kit) -> None:
    kit.begin()
    later = kit.ask([], forgotten=(7,))
    kit.produce(7)
    assert not later.is_resolved
    assert not kit.parts[7].end_watchers


def test_requests_of_a_session_come_one_after_the_other(kit: Kit) -> None:
    kit.begin()
    session = kit.session
    for wrong in ((session[0], session[1] + 1), (session[0] + 1, session[1])):
        kit.session = wrong
        assert kit.ask([]).error_code in (
            ErrorCode.INVALID_FETCH_SESSION_EPOCH,
            ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        )
    kit.session = session
    assert isinstance(kit.ask([]), Later)


def test_a_new_session_takes_the_place_of_the_old_one(kit: Kit) -> None:
    kit.begin()
    kit.session = (kit.session[0], 0)
    kit.begin()
    assert len(kit.sessions) == 1
    assert len(kit.parts[0].end_watchers) == 1


def test_a_follower_that_forgets_its_sessions_does_not_fill_the_leader(kit: Kit) -> None:
    for _ in range(MOST_SESSIONS_OF_ONE + 5):
        kit.session = (0, 0)
        kit.begin()
    assert len(kit.sessions) == MOST_SESSIONS_OF_ONE
    assert len(kit.parts[0].end_watchers) == MOST_SESSIONS_OF_ONE


def test_whoever_waits_is_let_go_when_its_connection_closes(kit: Kit) -> None:
    kit.begin()
    later = kit.ask([])
    for then in list(kit.peer.on_close):
        then()
    kit.produce(7)
    assert not later.is_resolved
    assert not kit.peer.on_close


def test_who_has_nothing_to_say_is_caught_up_until_something_comes(kit: Kit) -> None:
    """An hour of silence is no lag: it fetched all along, and there was nothing."""
    kit.begin()
    for _ in range(80):  # a lag is 30 s
        kit.read(kit.wait(kit.ask([])))
    kit.ask([])
    kit.produce(4)
    kit.parts[4].drop_lagging(kit.clock.now())
    assert not kit.proposals(4)
    kit.clock.advance(60_000)
    kit.parts[4].drop_lagging(kit.clock.now())
    assert kit.proposals(4) == [(1,)]


def test_where_the_log_begins_is_news(kit: Kit) -> None:
    kit.begin()
    kit.produce(1)
    kit.ask([(1, 1)], wait_ms=0)
    later = kit.ask([(1, 1)])
    kit.parts[1].begin_later(1)
    kit.wait(later)
    assert rows(kit.read(later))[1].log_start == 1


def test_who_is_ready_joins_as_soon_as_the_metadata_has_it_alive(kit: Kit) -> None:
    partition = kit.parts[6]
    partition.follow_metadata(PartitionState((1, 2), (1,), 1, 2, 3, (UUID(int=1),) * 2))
    kit.replication(6).dead.add(FOLLOWER)
    kit.begin()
    assert not kit.proposals(6)
    kit.replication(6).dead.clear()
    partition.admit(FOLLOWER)
    assert kit.proposals(6) == [(1, 2)]


class _Throttle:
    """Of partition 0; what counts and whether it is too much is the test's to say."""

    def __init__(self) -> None:
        self.is_exceeded = True
        self.counted = 0

    def holds(self, partition: TopicPartition) -> bool:
        return partition.partition == 0

    def record(self, size: int) -> None:
        self.counted += size


@pytest.fixture
def throttled(kit: Kit) -> Kit:
    """The follower lacks a record of partition 0, which is throttled, and is not in sync there."""
    kit.sessions = ReplicaSessions(SimRng(3), kit.throttle)  # type: ignore[arg-type]  # all that is used of it
    kit.parts[0].follow_metadata(PartitionState((1, 2), (1,), 1, 2, 3, (UUID(int=1),) * 2))
    kit.begin()
    kit.produce(0)
    return kit


def test_what_is_throttled_waits_and_nobody_asks_in_vain(throttled: Kit) -> None:
    kit = throttled
    for _ in range(3):
        later = kit.ask([])
        assert isinstance(later, Later)
        kit.produce(0)
        assert not later.is_resolved
        assert 0 not in rows(kit.read(kit.wait(later)))
    assert kit.throttle.counted == 0


def test_others_do_not_wait_for_what_is_throttled(throttled: Kit) -> None:
    later = throttled.ask([])
    throttled.produce(4)
    assert later.is_resolved
    assert [index for index, row in rows(throttled.read(later)).items() if row.records] == [4]


def test_once_there_is_room_it_is_told_and_counts(throttled: Kit) -> None:
    throttled.throttle.is_exceeded = False
    row = rows(throttled.ask([]))[0]
    assert throttled.throttle.counted == len(row.records or b"") > 0


def test_who_is_in_sync_never_waits(throttled: Kit) -> None:
    isr = PartitionState((1, 2), (1, 2), 1, 2, 4, (UUID(int=1),) * 2)
    throttled.parts[0].follow_metadata(isr)
    assert rows(throttled.ask([]))[0].records
    assert throttled.throttle.counted


@pytest.mark.interpreted  # replaces a part of the module
def test_one_answer_does_not_tell_of_thousands(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left over is told by the next fetches, at once, and before what comes later."""
    kit.begin()
    monkeypatch.setattr(serving, "MOST_ROWS", 8)
    for index in range(COUNT):
        kit.produce(index)
    answers = [rows(kit.ask([])) for _ in range(3)]
    assert [len(one) for one in answers] == [8, 8, 4]
    assert sorted(index for one in answers for index in one) == list(range(COUNT))
    assert isinstance(kit.ask([]), Later), "all is told"


@pytest.mark.interpreted  # replaces a part of the module
def test_what_was_left_over_is_not_overtaken(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.begin()
    monkeypatch.setattr(serving, "MOST_ROWS", 8)
    for index in range(16):
        kit.produce(index)
    first = rows(kit.ask([]))
    for index in first:
        kit.produce(index)
    assert rows(kit.ask([(index, 1) for index in first])).keys() == set(range(8, 16))
