"""`kafkapy topics shrink` under stock clients: nothing lost, nothing twice, each key in order."""

import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from kafkapy.broker.groups.settings import LASTING_GROUPS
from kafkapy.broker.hooks import sealed
from kafkapy.broker.relays import settings, transaction
from kafkapy.cli.client import Client
from kafkapy.cli.finding import GROUP, coordinator
from kafkapy.cli.groups.asking import commit_offsets
from kafkapy.cli.main import Failed, main
from kafkapy.cli.topics import shrink, shrink_checks
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.relays.progress import Progress, start_at
from kafkapy.relays.rule import Timing
from kafkapy.testing import Broker
from tests.cli.groups.test_streams import join

KEYS = 40
# Java's and librdkafka's own way of choosing a partition.
PARTITIONERS = ["murmur2_random", "consistent_random"]


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("orders", 12, {"retention.ms": "100000000"})
        yield broker


def step(kafka: Broker, *arguments: str) -> int:
    given = ["topics", "shrink", "orders", "--into", "orders.4", *arguments]
    return main([*given, "--bootstrap-server", kafka.bootstrap])


class Writer:
    """One after the other, to each key a number of its own; what is refused is sent to `then`."""

    def __init__(self, kafka: Broker, partitioner: str) -> None:
        self.sent: dict[str, int] = dict.fromkeys(map(str, range(KEYS)), 0)
        self.topic = "orders"
        self._producer = Producer(
            {
                "bootstrap.servers": kafka.bootstrap,
                "partitioner": partitioner,
                "enable.idempotence": True,
                "linger.ms": 0,
            }
        )

    def send(self, key: str) -> KafkaError | None:
        told: list[KafkaError | None] = []

        def delivered(error: KafkaError | None, message: Message) -> None:
            told.append(error)

        number = self.sent[key] + 1
        self._producer.produce(self.topic, str(number), key, on_delivery=delivered)
        self._producer.flush(30)
        if told[0] is None:
            self.sent[key] = number
        return told[0]

    def send_round(self) -> None:
        for key in self.sent:
            assert self.send(key) is None


class Reader:
    """A group that commits what it has done."""

    def __init__(self, kafka: Broker, group: str = "office") -> None:
        self.seen: dict[str, list[int]] = {}
        self.count = 0
        self._kafka = kafka
        self._group = group

    def read(self, topic: str, until: int) -> None:
        """So many in all."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._kafka.bootstrap,
                "group.id": self._group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        while self.count < until:
            message = consumer.poll(1)
            if message is None or message.error() is not None:
                continue
            key, value = message.key(), message.value()
            assert isinstance(key, bytes)
            assert value is not None
            self.seen.setdefault(key.decode(), []).append(int(value))
            self.count += 1
        consumer.commit(asynchronous=False)
        consumer.close()


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_clients_move_one_after_the_other_and_each_key_stays_in_order(
    kafka: Broker, partitioner: str
) -> None:
    writer, reader = Writer(kafka, partitioner), Reader(kafka)
    for _ in range(3):
        writer.send_round()
    reader.read("orders", KEYS)
    assert step(kafka, "--partitions", "4") == 0
    assert kafka.topics()["orders.4"] == 4
    writer.send_round()  # as ever
    assert step(kafka, "--seal") == 0
    error = writer.send("0")
    assert error is not None
    assert error.code() == KafkaError.POLICY_VIOLATION
    writer.topic = "orders.4"
    writer.send_round()
    writer.send_round()
    assert step(kafka, "--group", "office") == 1  # it has not read all of it
    reader.read("orders", 4 * KEYS)
    assert step(kafka, "--finish") == 1
    assert step(kafka, "--group", "office") == 0
    reader.read("orders.4", 6 * KEYS)
    assert reader.seen == {key: list(range(1, 7)) for key in writer.sent}
    assert step(kafka, "--finish") == 0
    assert set(kafka.topics()) == {"orders.4"}
    # Who comes new reads all there is, each key in one partition and in order.
    late = Reader(kafka, "late")
    late.read("orders.4", 6 * KEYS)
    assert late.seen == reader.seen
    partitions: dict[bytes, set[int]] = {}
    for record in kafka.records("orders.4"):
        assert record.key is not None
        partitions.setdefault(record.key, set()).add(record.partition)
    assert {len(one) for one in partitions.values()} == {1}


def test_a_writer_that_never_pauses_loses_nothing(kafka: Broker) -> None:
    """It writes while the topic is sealed, and goes on in the other one where it was refused."""
    writer = Writer(kafka, "murmur2_random")
    is_over = threading.Event()

    def write() -> None:
        refused = 0
        while not is_over.is_set() or not refused:
            for key in writer.sent:
                if writer.topic == "orders" and writer.send(key) is not None:
                    refused += 1
                    sealed_seen.set()
                    is_ready.wait(60)
                    writer.topic = "orders.4"
                elif writer.topic == "orders.4":
                    assert writer.send(key) is None

    sealed_seen, is_ready = threading.Event(), threading.Event()
    thread = threading.Thread(target=write)
    thread.start()
    assert step(kafka, "--partitions", "6") == 0
    assert step(kafka, "--seal") == 0
    assert sealed_seen.wait(60)
    is_ready.set()
    is_over.set()
    thread.join(60)
    total = sum(writer.sent.values())
    late = Reader(kafka, "late")
    late.read("orders.4", total)
    assert late.seen == {key: list(range(1, last + 1)) for key, last in writer.sent.items() if last}


def test_its_name_may_stay_for_who_reads(kafka: Broker) -> None:
    writer = Writer(kafka, "murmur2_random")
    writer.send_round()
    assert step(kafka, "--partitions", "3") == 0
    assert step(kafka, "--seal") == 0
    assert step(kafka, "--finish", "--view") == 0
    reader = Reader(kafka)
    reader.read("orders", KEYS)
    assert reader.seen == {key: [1] for key in writer.sent}
    assert kafka.topics() == {"orders": 0, "orders.4": 3}


def test_each_step_may_be_asked_for_again(kafka: Broker, capfd: pytest.CaptureFixture[str]) -> None:
    writer, reader = Writer(kafka, "murmur2_random"), Reader(kafka)
    writer.send_round()
    reader.read("orders", KEYS)
    for arguments in (
        ["--partitions", "4"], [], ["--seal"], ["--seal"], ["--group", "office"],
        ["--group", "office"], [],
    ):  # fmt: skip
        assert step(kafka, *arguments) == 0
    shown = capfd.readouterr().out.splitlines()
    assert shown[-2].split() == [
        "the",
        "relay",
        "0",
        "all",
        "is",
        "in",
        "orders.4:",
        *shown[-2].split()[7:],
    ]
    assert shown[-1].split() == ["office", "0", "is", "in", "orders.4"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "--partitions is missing"),
        (["--partitions", "12"], "has 12 partitions"),
        (["--partitions", "5"], "Possible: 1, 2, 3, 4, 6"),
        (["--partitions", "0"], "has 12 partitions"),
        (["--seal"], "is not being shrunk"),
        (["--group", "office"], "is not being shrunk"),
        (["--finish"], "is not being shrunk"),
        (["--seal", "--view"], "--view is for --finish"),
    ],
)
def test_what_cannot_be_done_is_told(
    kafka: Broker, arguments: list[str], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert step(kafka, *arguments) == 1
    assert why in capfd.readouterr().err
    assert set(kafka.topics()) == {"orders"}


def test_a_smaller_topic_that_is_there_and_empty_will_do(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    kafka.create_topic("orders.4", 4)
    assert step(kafka, "--partitions", "6") == 1
    assert "exists, with 4 partitions" in capfd.readouterr().err
    assert step(kafka, "--partitions", "4") == 0
    kafka.create_topic("bills", 2)
    kafka.create_topic("bills.1")
    kafka.produce("bills.1", "value")
    given = ["topics", "shrink", "bills", "--into", "bills.1", "--partitions", "1"]
    assert main([*given, "--bootstrap-server", kafka.bootstrap]) == 1
    assert "has had records" in capfd.readouterr().err


def test_nothing_is_finished_before_it_is_sealed(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert step(kafka, "--partitions", "4") == 0
    for arguments in (["--finish"], ["--group", "office"]):
        assert step(kafka, *arguments) == 1
        assert "--seal comes first" in capfd.readouterr().err
    assert "orders" in kafka.topics()


def test_a_sealed_topic_takes_records_again_when_it_is_sealed_no_more(kafka: Broker) -> None:
    kafka.create_topic("t", config={"kafkapy.sealed": "true"})
    with pytest.raises(Refused) as refused:
        kafka.produce("t", "value")
    assert refused.value.code is ErrorCode.POLICY_VIOLATION
    assert "sealed" in str(refused.value)
    alter = ["topics", "alter", "t", "--delete-config", "kafkapy.sealed"]
    assert main([*alter, "--bootstrap-server", kafka.bootstrap]) == 0
    for _ in range(1000):
        try:
            kafka.produce("t", "value")
            break
        except Refused:
            continue
    assert [record.value for record in kafka.records("t")] == [b"value"]


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_transaction_that_is_open_when_a_topic_is_sealed_can_be_ended(
    kafka: Broker, is_committed: bool
) -> None:
    """What it has written by then is moved, or not."""
    assert step(kafka, "--partitions", "4") == 0
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "shop"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("orders", "written", "key")
    producer.flush(30)
    assert step(kafka, "--seal", "--timeout", "2") == 1  # it waits for the transaction
    if is_committed:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)
    assert step(kafka, "--seal") == 0
    seen = [record.value for record in kafka.records("orders.4") if record.is_visible]
    assert seen == ([b"written"] if is_committed else [])


def alter(kafka: Broker, *arguments: str) -> None:
    given = ["topics", "alter", "orders", *arguments, "--bootstrap-server", kafka.bootstrap]
    assert main(given) == 0


@pytest.mark.parametrize("into", ["orders.2", "orders.4"])
def test_one_that_was_given_up_leaves_nothing_out_of_the_next(kafka: Broker, into: str) -> None:
    """Into another topic, or into a new one of the same name."""
    writer = Writer(kafka, "murmur2_random")
    writer.send_round()
    assert step(kafka, "--partitions", "4") == 0
    kafka.wait_for("orders.4", KEYS, timeout=30)
    alter(kafka, "--delete-config", "kafkapy.relay.to")
    if into == "orders.4":
        assert main(["topics", "delete", into, "--bootstrap-server", kafka.bootstrap]) == 0
    writer.send_round()
    again = ["topics", "shrink", "orders", "--into", into, "--bootstrap-server", kafka.bootstrap]
    assert main([*again, "--partitions", "2"]) == 0
    assert main([*again, "--seal"]) == 0
    assert main([*again, "--finish"]) == 0
    seen: dict[bytes, list[bytes]] = {}
    for record in kafka.records(into):
        if record.is_visible:
            assert record.key is not None
            assert record.value is not None
            seen.setdefault(record.key, []).append(record.value)
    assert seen == {key.encode(): [b"1", b"2"] for key in writer.sent}


def test_a_share_group_that_is_not_done_keeps_the_old_topic(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    Writer(kafka, "murmur2_random").send_round()
    ends: dict[int, int] = {}
    for record in kafka.records("orders"):
        ends[record.partition] = record.offset + 1
    share(kafka, dict.fromkeys(range(12), 0))
    assert step(kafka, "--partitions", "4") == 0
    assert step(kafka, "--seal") == 0
    capfd.readouterr()
    assert step(kafka) == 0
    shown = capfd.readouterr().out.splitlines()
    assert shown[-1].split() == ["workers", str(KEYS), "shares", "orders"]
    assert step(kafka, "--group", "workers") == 1
    assert "is a share group" in capfd.readouterr().err
    assert step(kafka, "--finish") == 1
    assert "share groups that are not done with orders: workers" in capfd.readouterr().err
    share(kafka, {index: ends.get(index, 0) for index in range(12)})
    assert step(kafka) == 0
    assert capfd.readouterr().out.splitlines()[-1].split()[:4] == ["workers", "0", "is", "done"]
    assert step(kafka, "--finish") == 0
    assert set(kafka.topics()) == {"orders.4"}


def test_a_streams_group_is_not_moved_and_keeps_the_old_topic(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    join(kafka, "app")
    with coordinator(kafka.bootstrap, GROUP, "app") as client:
        leaving = {"group_id": "app", "member_id": "me", "member_epoch": -1}
        answer = client._ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, leaving)
        assert answer.error_code == 0, answer
        commit_offsets(client, "app", {("orders", 0): 0})
    assert step(kafka, "--partitions", "4") == 0
    assert step(kafka, "--seal") == 0
    capfd.readouterr()
    assert step(kafka, "--group", "app") == 1
    assert "app is a streams group" in capfd.readouterr().err
    assert step(kafka, "--finish") == 1
    assert "groups that are not in orders.4 yet: app" in capfd.readouterr().err


def test_a_share_group_is_not_done_while_a_transaction_is_open(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    """What it has may still be committed. Who asks is told so at once, and does not wait."""
    share(kafka, dict.fromkeys(range(12), 0))
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "shop"})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("orders", "open", partition=0)
    producer.flush(10)
    assert step(kafka, "--partitions", "4") == 0
    assert capfd.readouterr().out.splitlines()[-1].split() == ["workers", "1", "shares", "orders"]
    producer.abort_transaction(10)


def share(kafka: Broker, places: dict[int, int]) -> None:
    """A share group without members begins there."""
    rows = [{"partition_index": index, "start_offset": at} for index, at in places.items()]
    body = {"group_id": "workers", "topics": [{"topic_name": "orders", "partitions": rows}]}
    asked = {"key_type": 0, "coordinator_keys": ["workers"]}
    with Client(kafka.bootstrap) as client:
        while client.ask(ApiKey.FIND_COORDINATOR, asked).coordinators[0].error_code:
            pass
        answer = client._ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, body)
    assert {one.error_code for one in answer.responses[0].partitions} == {0}, answer


def test_nothing_goes_that_was_written_after_all(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    """Somebody takes the seal away: producers write to the old one again."""
    writer = Writer(kafka, "murmur2_random")
    assert step(kafka, "--partitions", "4") == 0
    assert step(kafka, "--seal") == 0
    alter(kafka, "--delete-config", "kafkapy.sealed")
    while writer.send("0") is not None:
        pass
    assert step(kafka, "--finish") == 1
    assert "takes records again" in capfd.readouterr().err
    assert step(kafka, "--seal") == 0
    assert step(kafka, "--finish") == 0
    assert [one.value for one in kafka.records("orders.4") if one.is_visible] == [b"1"]


def test_what_share_groups_delete_is_not_shrunk(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor is the smaller one made first."""
    alter(kafka, "--config", "kafkapy.retention.follows.share.groups=true")
    assert step(kafka, "--partitions", "4") == 1
    assert "kafkapy.retention.follows.share.groups" in capfd.readouterr().err
    assert set(kafka.topics()) == {"orders"}


def test_nothing_goes_while_the_relay_leaves_some_out(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert step(kafka, "--partitions", "4") == 0
    alter(kafka, "--config", "kafkapy.relay.where=key = 'a'")
    assert step(kafka, "--seal") == 1
    assert "orders has kafkapy.relay.where" in capfd.readouterr().err
    assert step(kafka, "--finish") == 1


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (start_at(8), "began at offset 8, and the log begins at 3"),
        (start_at(3).under(Timing(where="key = 'a'")), "had kafkapy.relay.where"),
        (start_at(3).under(Timing()), None),
        (start_at(1), None),
    ],
)
def test_what_the_relay_never_looked_at_is_missing(place: Progress, why: str | None) -> None:
    if why is None:
        shrink_checks.check_whole("orders", {}, {0: place}, {0: 3})
        return
    with pytest.raises(Failed, match=why):
        shrink_checks.check_whole("orders", {}, {0: place}, {0: 3})


def test_the_command_calls_things_as_the_broker_does() -> None:
    assert shrink.FOLLOWS_SHARE_GROUPS == settings.FOLLOWS_SHARE_GROUPS
    assert (shrink_checks.RELAY_TO, shrink.SEALED, shrink_checks.GROUP_PREFIX) == (
        settings.RELAY_TO,
        sealed.SEALED,
        transaction.GROUP_PREFIX,
    )
    assert (shrink_checks.GROUP_PREFIX, shrink.MARK_PREFIX) == LASTING_GROUPS
