"""Dead letters of share groups (KIP-1191): what becomes of records that nobody can use."""

from types import SimpleNamespace
from typing import Any

from crc32c import crc32c

from kafkapy.broker.share import dead_letters
from kafkapy.broker.share.settings import DeadLetterSettings
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import CRC_START, HEADER_SIZE, build_batch, records
from kafkapy.protocol.batches.records import NewRecord, Record
from kafkapy.protocol.compression.codecs import Codec
from kafkapy.share.partition import DeadLetter
from tests.broker.share.member import (
    ACCEPT,
    BROKER_RESOURCE,
    REJECT,
    RELEASE,
    TOPIC_RESOURCE,
    Member,
    configure,
    configure_group,
    finalize,
    log_of,
)
from tests.coordinator.fakes import FakeClock
from tests.log.support import Home
from tests.sim.cluster.kit import Kit

DLQ = "dlq.g"
_WANTED = {"errors_deadletterqueue_topic_name": DLQ, "share_delivery_count_limit": "2"}


def kit(seed: int, records: int = 4, *, makes_topic: bool = True, **settings: str) -> Kit:
    """With records, and a group that has a dead letter topic."""
    made = Kit(seed)
    finalize(made, "share.version", 2)
    for number in range(records):
        made.produce_until_acknowledged(b"value-%d" % number)
    configure_group(made, **{**_WANTED, **settings})
    if makes_topic:
        made.create(DLQ, errors_deadletterqueue_group_enable="true")
    return made


def headers(one: Record) -> dict[str, str]:
    return {name.removeprefix("__dlq.errors."): (it or b"").decode() for name, it in one.headers}


def wait_for_letters(made: Kit, count: int) -> list[Record]:
    made.wait(lambda: len(log_of(made, DLQ)) >= count)
    return log_of(made, DLQ)


def lag(made: Kit) -> int:
    """How many records are not over, as the share coordinator has it."""
    asked = {"topic_name": "t", "partitions": [0]}
    body = {"groups": [{"group_id": "g", "topics": [asked]}]}
    node = made.leader().node_id
    find = {"key_type": 0, "coordinator_keys": ["g"]}
    found = made.client.ask(node, ApiKey.FIND_COORDINATOR, find).coordinators[0]
    answer = made.client.ask(found.node_id, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, body)
    return int(answer.groups[0].topics[0].partitions[0].lag)


def test_a_rejected_record_is_told_of_in_the_dead_letter_topic() -> None:
    made = kit(1)
    member = Member(made, "a").join()
    assert [one.offset for one in member.fetch()] == [0, 1, 2, 3]
    assert member.acknowledge(0, 3, ACCEPT, REJECT, ACCEPT, ACCEPT) is ErrorCode.NONE
    (letter,) = wait_for_letters(made, 1)
    assert (letter.key, letter.value) == (None, None)
    assert list(headers(letter).items()) == [
        ("topic", "t"),
        ("partition", "0"),
        ("offset", "1"),
        ("group", "g"),
        ("delivery.count", "1"),
        ("message", "Offset rejected by client."),
    ]
    made.wait(lambda: lag(made) == 0)


def test_key_and_value_go_along_where_the_group_asks_for_it() -> None:
    made = kit(2, errors_deadletterqueue_copy_record_enable="true")
    member = Member(made, "a").join()
    member.fetch()
    member.acknowledge(0, 3, ACCEPT, REJECT, REJECT, ACCEPT)
    letters = wait_for_letters(made, 2)
    assert [one.value for one in letters] == [b"value-1", b"value-2"]


def test_a_record_that_was_delivered_too_often_says_so() -> None:
    made = kit(3, records=1)
    member = Member(made, "a").join()
    for deliveries in (1, 2):
        assert [one.delivery_count for one in member.fetch()] == [deliveries]
        member.acknowledge(0, 0, RELEASE)
    (letter,) = wait_for_letters(made, 1)
    assert headers(letter)["delivery.count"] == "2"
    assert headers(letter)["message"] == "Offset delivery count exceeded the threshold."


def test_a_lock_that_ends_the_last_time_makes_a_dead_letter() -> None:
    made = kit(4, records=1)
    member = Member(made, "a").join()
    for deliveries in (1, 2):
        assert [one.delivery_count for one in member.fetch()] == [deliveries]
        made.world.run(30_000)
    (letter,) = wait_for_letters(made, 1)
    assert headers(letter)["message"] == "Offset delivery count exceeded the threshold."


def test_without_share_version_2_or_without_a_topic_there_are_none() -> None:
    made = kit(5)
    configure_group(made, "other")
    member = Member(made, "a", group="other").join()
    member.fetch()
    assert member.acknowledge(0, 3, REJECT) is ErrorCode.NONE
    finalize(made, "share.version", 1)  # for the other group, which has a topic
    member = Member(made, "b").join()
    member.fetch()
    assert member.acknowledge(0, 3, REJECT) is ErrorCode.NONE
    made.wait(lambda: lag(made) == 0)
    assert log_of(made, DLQ) == []


def test_the_topic_is_made_where_the_cluster_allows_it() -> None:
    made = kit(6, makes_topic=False)
    allowed = {"errors.deadletterqueue.auto.create.topics.enable": "true"}
    configure(made, BROKER_RESOURCE, "", allowed)
    member = Member(made, "a").join()
    member.fetch()
    member.acknowledge(0, 3, REJECT)
    assert len(wait_for_letters(made, 4)) == 4


def test_records_are_over_even_if_the_topic_may_not_be_used() -> None:
    """No such topic; one that is not for dead letters: it is said in the journal, no more."""
    made = kit(7, makes_topic=False)
    member = Member(made, "a").join()
    member.fetch()
    member.acknowledge(0, 1, REJECT)
    made.wait(lambda: lag(made) == 2)
    made.create(DLQ)
    member.acknowledge(2, 3, REJECT)
    made.wait(lambda: lag(made) == 0)
    assert log_of(made, DLQ) == []


def test_a_dead_letter_waits_for_a_topic_that_has_too_few_replicas() -> None:
    made = kit(8)
    configure(made, TOPIC_RESOURCE, DLQ, {"min.insync.replicas": "3"})
    member = Member(made, "a").join()
    member.fetch()
    busy = {made.leader(), made.leader_or_none(DLQ)}
    away = next(host for host in made.world.brokers if host not in busy)
    away.kill()
    made.wait(lambda: len(made.partition(made.leader_or_none(DLQ) or away, DLQ).isr) == 2)
    member.acknowledge(0, 3, REJECT)
    made.world.run(60_000)
    assert log_of(made, DLQ) == []
    away.start()
    assert len(wait_for_letters(made, 4)) == 4
    made.wait(lambda: lag(made) == 0)


def test_whoever_leads_next_writes_what_the_last_one_could_not() -> None:
    made = kit(9, errors_deadletterqueue_copy_record_enable="true")
    configure(made, TOPIC_RESOURCE, DLQ, {"min.insync.replicas": "3"})
    member = Member(made, "a").join()
    member.fetch()
    dead = made.leader()
    busy = {dead, made.leader_or_none(DLQ)}
    away = next(host for host in made.world.brokers if host not in busy)
    away.kill()
    made.wait(lambda: len(made.partition(made.leader_or_none(DLQ) or away, DLQ).isr) == 2)
    member.acknowledge(0, 3, ACCEPT, REJECT, REJECT, ACCEPT)
    away.start()
    dead.kill()
    made.wait(lambda: made.leader_or_none() not in (None, dead))
    dead.start()
    Member(made, "b").join().fetch()
    letters = wait_for_letters(made, 2)
    assert {one.value for one in letters} == {b"value-1", b"value-2"}
    assert {headers(one)["message"] for one in letters} == {"Offset rejected by client."}
    made.wait(lambda: lag(made) == 0)


def test_what_is_too_large_with_its_value_goes_without() -> None:
    made = kit(10, errors_deadletterqueue_copy_record_enable="true")
    configure(made, TOPIC_RESOURCE, DLQ, {"max.message.bytes": "330"})
    made.produce_until_acknowledged(b"x" * 400)
    member = Member(made, "a").join()
    assert len(member.fetch()) == 5
    member.acknowledge(0, 4, REJECT)
    letters = wait_for_letters(made, 5)
    assert [one.value for one in letters] == [*(b"value-%d" % n for n in range(4)), None]


def test_what_nobody_can_unpack_has_a_letter_without_it() -> None:
    """A producer gave it a right CRC; the one before it goes along."""
    log = Home().open()
    log.append_as_leader(memoryview(build_batch([NewRecord(None, b"good", 7)])), leader_epoch=0)
    garbage = bytearray(build_batch([NewRecord(None, b"x" * 60, 7)], codec=Codec.GZIP))
    garbage[HEADER_SIZE + 10 :] = b"\xff" * (len(garbage) - HEADER_SIZE - 10)
    crc = crc32c(memoryview(garbage)[CRC_START:])
    garbage[CRC_START - 4 : CRC_START] = crc.to_bytes(4, "big")
    log.append_as_leader(memoryview(bytes(garbage)), leader_epoch=0)
    log.advance_high_watermark(2)
    found, last = dead_letters._read(SimpleNamespace(log=log), 0, 1)  # type: ignore[arg-type]
    assert ([one.value for one in found.values()], last) == ([b"good"], 1)


def test_very_many_letters_do_not_fill_the_stack() -> None:
    """Where they are led here and nobody else has to have them, each batch is there at once."""
    clock, buried, written = FakeClock(), list[bool](), list[bytes]()

    def append(batch: memoryview, *, needs_all: bool) -> SimpleNamespace:
        written.append(bytes(batch))
        return SimpleNamespace(last_offset=0)

    here = SimpleNamespace(
        check_leader=lambda: None,
        append=append,
        when_committed=lambda _, then: then(ErrorCode.NONE),
    )
    topic = SimpleNamespace(partitions={0: SimpleNamespace(leader=1)})
    image = SimpleNamespace(topics_by_name={DLQ: topic}, configs=lambda *_: {})
    wanted = DeadLetterSettings(DLQ, copies=False)
    parts: dict[str, Any] = {
        "node_id": 1,
        "config": SimpleNamespace(errors_deadletterqueue_topic_name_prefix="dlq."),
        "clock": clock,
        "journal": SimpleNamespace(),
        "other_nodes": SimpleNamespace(),
        "image": lambda: image,
        "partitions": SimpleNamespace(get=lambda *_: here),
        "topic_configs": SimpleNamespace(
            value=lambda *_: True, log_config=lambda _: SimpleNamespace(max_message_bytes=300)
        ),
        "settings": lambda: SimpleNamespace(dead_letters=lambda _: wanted),
        "create_topic": lambda _: None,
    }
    letters = dead_letters.DeadLetters(**parts)
    source: Any = SimpleNamespace(topic_partition=TopicPartition("t", 0))
    letter = DeadLetter(0, 2_999, 5, is_rejected=True)
    letters.bury("g", source, letter, lambda: True, lambda: buried.append(True))
    clock.run_soon()
    assert buried == [True]
    assert sum(len(list(records(one))) for one in written) == 3_000
