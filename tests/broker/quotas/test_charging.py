"""Answers of clients above their quotas: told, and not heard for as long. In virtual time."""

from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.dispatch import dispatch, encode
from kafkapy.broker.requests.request import Answer, Later, Peer
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.framing import read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request
from kafkapy.sim.world.world import World

K = ApiKey


class Ears:
    """A connection, as far as it can be muted."""

    def __init__(self) -> None:
        self.is_muted = False

    def mute(self, is_muted: bool) -> None:
        self.is_muted = is_muted

    def hang_up(self) -> None:
        raise AssertionError("nobody hangs up")

    def limit_frames(self, least: int, most: int) -> None:
        raise AssertionError("nobody limits")


class Client:
    def __init__(self, world: World, client_id: str = "app") -> None:
        self.ears = Ears()
        self.peer = Peer("PLAINTEXT", "127.0.0.1", line=self.ears)
        self._world = world
        self._client_id = client_id

    @property
    def node(self) -> Node:
        assert self._world.node is not None
        return self._world.node

    def ask(self, api: ApiKey, version: int, **body: Any) -> Any:
        head = request_head(api, version, 7, self._client_id)
        request = memoryview(head + encode_request(api, version, body)).toreadonly()
        call, answer = dispatch(self.node, request, self.peer)
        if isinstance(answer, Later) and not answer.is_resolved:
            assert self._world.clock.run_until(lambda: answer.is_resolved, 10_000)
        resolved: Answer = answer.answer if isinstance(answer, Later) else answer
        assert not isinstance(resolved, Later)
        # The call of a frame that is known does not know its version.
        call.version, call.correlation_id = version, 7
        data = b"".join(
            one if isinstance(one, bytes) else one.read() for one in encode(call, resolved)
        )
        if not data:
            return None
        _, at = read_response_head(api, version, memoryview(data)[4:])
        return decode_response(api, version, memoryview(data)[4 + at :].toreadonly())

    def produce(self, size: int, version: int = 12, acks: int = 1) -> Any:
        batch = build_batch([NewRecord(None, bytes(size), self._world.clock.now())])
        rows = [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]
        body = {"transactional_id": None, "acks": acks, "timeout": 1000, "topic_data": rows}
        return self.ask(K.PRODUCE, version, **body)

    def fetch(self, *, session_epoch: int = -1, offset: int = 0) -> Any:
        row = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 10_000_000}
        body: dict[str, Any] = {"max_wait": 0, "min_bytes": 0, "max_bytes": 10_000_000}
        topics = [{"topic": "orders", "partitions": [row]}]
        return self.ask(K.FETCH, 12, **body, session_epoch=session_epoch, topics=topics)

    def create(self, name: str, partitions: int, version: int = 7) -> Any:
        row = {"name": name, "num_partitions": partitions, "replication_factor": 1}
        row |= {"assignments": [], "configs": []}
        return self.ask(K.CREATE_TOPICS, version, topics=[row], timeout=5000, validate_only=False)

    def set_quota(self, whose: dict[str, str | None], **values: float) -> None:
        entity = [{"entity_type": kind, "entity_name": name} for kind, name in whose.items()]
        ops = [{"key": key, "value": value, "remove": False} for key, value in values.items()]
        entries = [{"entity": entity, "ops": ops}]
        answer = self.ask(K.ALTER_CLIENT_QUOTAS, 1, entries=entries, validate_only=False)
        assert not answer.entries[0].error_code

    @property
    def throttled_ms(self) -> int:
        left: int = self.peer.muted_until - self.node.clock.now()
        return max(0, left)


def ms(answer: Any) -> int:
    told: float = answer.throttle_time.total_seconds()
    return round(told * 1000)


@pytest.fixture
def world() -> Iterator[World]:
    world = World(1)
    world.start()
    Client(world).create("orders", 1)
    yield world
    world.stop()


ANYBODY: dict[str, str | None] = {"client-id": None}


def test_without_a_quota_nobody_is_charged(world: World) -> None:
    client = Client(world)
    assert client.node.quotas is None
    assert ms(client.produce(100_000)) == 0
    client.set_quota({"ip": None}, connection_creation_rate=5)
    assert client.node.quotas is None


@pytest.mark.parametrize("version", [3, 7, 8, 9, 12])
def test_a_producer_above_its_quota_is_told_and_not_heard_for_as_long(
    world: World, version: int
) -> None:
    client = Client(world)
    client.set_quota(ANYBODY, producer_byte_rate=1000)
    assert ms(client.produce(8000, version)) == 0
    assert not client.ears.is_muted
    answer = client.produce(8000, version)
    assert not answer.responses[0].partition_responses[0].error_code
    assert 5_000 < ms(answer) < 8_000
    assert client.throttled_ms == ms(answer)
    assert client.ears.is_muted
    world.clock.advance(ms(answer) + 1)
    assert not client.ears.is_muted
    # Twice the same frame: what is known by its bytes is charged too.
    assert ms(client.produce(8000, version)) > 0


def test_who_asked_for_no_answer_is_not_heard_all_the_same(world: World) -> None:
    client = Client(world)
    client.set_quota(ANYBODY, producer_byte_rate=1000)
    assert client.produce(30_000, acks=0) is None
    assert client.ears.is_muted
    assert 15_000 < client.throttled_ms < 25_000


def test_a_noisy_client_does_not_make_a_quiet_one_wait(world: World) -> None:
    noisy, quiet = Client(world, "noisy"), Client(world, "quiet")
    noisy.set_quota(ANYBODY, producer_byte_rate=1000)
    assert ms(noisy.produce(50_000)) > 0
    assert ms(quiet.produce(5_000)) == 0
    assert not quiet.ears.is_muted


def test_those_who_share_a_quota_wait_for_one_another(world: World) -> None:
    one, other = Client(world, "one"), Client(world, "other")
    one.set_quota({"user": "ANONYMOUS"}, producer_byte_rate=1000)
    assert ms(one.produce(9_000)) == 0
    assert ms(other.produce(9_000)) > 0


def test_a_consumer_above_its_quota_gets_nothing_until_it_has_waited(world: World) -> None:
    client = Client(world)
    for _ in range(4):
        client.produce(6_000)
    client.set_quota(ANYBODY, consumer_byte_rate=1000)
    first = client.fetch()
    got = len(first.responses[0].partitions[0].records)
    assert 6_000 < got <= 10_000
    second = client.fetch(offset=1)
    assert ms(second) > 0
    assert second.responses == ()
    assert client.ears.is_muted
    world.clock.advance(12_000)
    assert len(client.fetch(offset=1).responses) == 1


def test_what_alone_is_more_than_fits_is_delivered_and_paid_for(world: World) -> None:
    client = Client(world)
    client.produce(500_000)
    client.set_quota(ANYBODY, consumer_byte_rate=1000)
    answer = client.fetch()
    assert len(answer.responses[0].partitions[0].records) > 500_000
    assert client.throttled_ms > 400_000


def test_a_session_does_not_begin_with_an_answer_that_was_withheld(world: World) -> None:
    client = Client(world)
    client.produce(9_000)
    client.set_quota(ANYBODY, consumer_byte_rate=1000)
    client.fetch()
    withheld = client.fetch(session_epoch=0)
    assert (withheld.session_id, withheld.responses) == (0, ())


def test_time_is_charged_and_never_more_than_its_window(world: World) -> None:
    client = Client(world)
    client.set_quota(ANYBODY, request_percentage=1)
    quotas = client.node.quotas
    assert quotas is not None
    time = quotas.account(client.peer, "app").time
    assert time is not None
    now = client.node.clock.now()
    assert time.charge(9, now) == 0
    assert time.charge(9, now) == 1000
    assert ms(client.ask(K.METADATA, 12, topics=[])) == 1000
    assert ms(client.ask(K.LIST_GROUPS, 4, states_filter=[])) == 1000
    assert client.ears.is_muted


def test_who_asks_for_the_ends_of_epochs_is_charged_whoever_it_says_it_is(world: World) -> None:
    """As by Apache Kafka; of fetches, those of replicas are not."""
    client = Client(world)
    client.set_quota(ANYBODY, request_percentage=1)
    quotas = client.node.quotas
    assert quotas is not None
    time = quotas.account(client.peer, "app").time
    assert time is not None
    time.charge(18, client.node.clock.now())
    for replica_id in (-1, 2):
        asked = client.ask(K.OFFSET_FOR_LEADER_EPOCH, 4, replica_id=replica_id, topics=[])
        assert ms(asked) == 1000


def test_mutations_that_do_not_fit_are_refused_by_newer_versions(world: World) -> None:
    client = Client(world)
    client.set_quota(ANYBODY, controller_mutation_rate=1)
    assert ms(client.create("a", 8)) == 0
    overdrawn = client.create("b", 8)
    assert overdrawn.topics[0].error_code == 0
    assert 4_900 < ms(overdrawn) <= 5_000
    refused = client.create("c", 8)
    assert refused.topics[0].error_code.name == "THROTTLING_QUOTA_EXCEEDED"
    assert 0 < ms(refused) <= 5000
    world.clock.advance(6_000)
    assert client.create("c", 1).topics[0].error_code == 0


def test_older_versions_get_what_they_ask_for_and_wait(world: World) -> None:
    client = Client(world)
    client.set_quota(ANYBODY, controller_mutation_rate=1)
    assert ms(client.create("a", 20, version=5)) in range(8_900, 9_001)
    answer = client.create("b", 2, version=5)
    assert answer.topics[0].error_code == 0
    assert ms(answer) > 9_000


def test_deleting_and_growing_topics_is_charged_too(world: World) -> None:
    client = Client(world)
    client.create("a", 20)
    client.set_quota(ANYBODY, controller_mutation_rate=1)
    rows: list[dict[str, Any]] = [{"name": "a", "topic_id": None}]
    assert ms(client.ask(K.DELETE_TOPICS, 6, topics=rows, timeout=5000)) in range(8_900, 9_001)
    rows = [{"name": "orders", "count": 3, "assignments": None}]
    grown = client.ask(K.CREATE_PARTITIONS, 3, topics=rows, timeout=5000, validate_only=False)
    assert grown.results[0].error_code.name == "THROTTLING_QUOTA_EXCEEDED"


def test_asking_for_fewer_partitions_than_there_are_gains_nothing(world: World) -> None:
    client = Client(world)
    client.create("a", 1)
    client.create("b", 1)
    client.set_quota(ANYBODY, controller_mutation_rate=1)
    rows: list[dict[str, Any]] = [
        {"name": name, "count": count, "assignments": None}
        for name, count in (("orders", -1_000_000), ("a", 50), ("b", 50))
    ]
    grown = client.ask(K.CREATE_PARTITIONS, 3, topics=rows, timeout=5000, validate_only=False)
    codes = {one.name: one.error_code.name for one in grown.results}
    assert codes == {
        "orders": "INVALID_PARTITIONS",
        "a": "NONE",
        "b": "THROTTLING_QUOTA_EXCEEDED",
    }


def test_a_quota_that_is_removed_is_no_more(world: World) -> None:
    client = Client(world)
    client.set_quota(ANYBODY, producer_byte_rate=1000)
    client.produce(50_000)
    entity = [{"entity_type": "client-id", "entity_name": None}]
    ops = [{"key": "producer_byte_rate", "value": 0, "remove": True}]
    entries = [{"entity": entity, "ops": ops}]
    client.ask(K.ALTER_CLIENT_QUOTAS, 1, entries=entries, validate_only=False)
    assert client.node.quotas is None
    assert ms(client.produce(50_000)) == 0


def test_accounts_are_bounded_by_what_their_names_take(world: World) -> None:
    """A client may choose another id of 32 KB for each request, before it has logged in."""
    client = Client(world)
    client.set_quota(ANYBODY, producer_byte_rate=100_000, request_percentage=50)
    quotas = client.node.quotas
    assert quotas is not None
    first = quotas.account(client.peer, "first")
    for number in range(600):
        quotas.account(Peer("PLAINTEXT", "127.0.0.1"), f"{number:032000}")
        kept = sum(len(one.client_id) for one in quotas._accounts.values())
        assert kept <= 8 * 1024 * 1024
    assert max(len(repr(key)) for key in quotas._rates) < 200
    assert first.is_void
    assert quotas.account(client.peer, "first").produced is not None
