"""What kcat shows: lines in, lines out."""

import re

import pytest

from compat_tests.behaviours import covers
from compat_tests.confluent_kafka.clients import create
from compat_tests.installation import Unavailable
from compat_tests.kcat.program import command, kcat, run


@pytest.fixture(autouse=True, scope="session")
def installed() -> None:
    try:
        command()
    except Unavailable as reason:
        pytest.skip(str(reason))


def write(broker: str, topic: str, text: str, *arguments: str) -> None:
    kcat(broker, "-P", "-t", topic, "-p", "0", *arguments, stdin=text)


def read(broker: str, topic: str, *arguments: str) -> str:
    """All of partition 0 from its beginning to its end, unless the arguments say otherwise."""
    start = () if "-o" in arguments else ("-o", "beginning")
    return kcat(broker, "-C", "-q", "-e", "-t", topic, "-p", "0", *start, *arguments)


def lines(count: int) -> str:
    return "".join(f"line {i}\n" for i in range(count))


@covers("produce-codecs")
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec(broker: str, topic: str, codec: str) -> None:
    create(broker, topic)
    write(broker, topic, lines(200), "-z", codec)
    assert read(broker, topic) == lines(200)


@covers("ordering", "idempotence")
def test_an_idempotent_producer_keeps_the_order(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, lines(5000), "-X", "enable.idempotence=true", "-X", "batch.size=2000")
    assert read(broker, topic) == lines(5000)


@covers("headers", "null-key-value")
def test_headers_keys_and_nulls(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, "key:value\n:\n", "-K", ":", "-H", "a=1", "-H", "a=2", "-H", "empty=")
    write(broker, topic, "gone:\n", "-K", ":", "-Z")
    shown = read(broker, topic, "-f", "%h|%k|%K|%s|%S\\n")
    assert shown == "a=1,a=2,empty=|key|3|value|5\na=1,a=2,empty=||0||0\n|gone|4||-1\n"


@covers("partitioning")
def test_keys_choose_the_partition(broker: str, topic: str) -> None:
    create(broker, topic, partitions=4)
    keyed = "".join(f"k{i % 7}:{i}\n" for i in range(70))
    kcat(broker, "-P", "-t", topic, "-K", ":", "-X", "partitioner=murmur2", stdin=keyed)
    shown = kcat(broker, "-C", "-q", "-e", "-t", topic, "-o", "beginning", "-f", "%k %p\\n")
    assert len(shown.splitlines()) == 70
    assert len(set(shown.splitlines())) == 7


@covers("acks")
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_setting_of_acks(broker: str, topic: str, acks: str) -> None:
    create(broker, topic)
    write(broker, topic, lines(10), "-X", f"acks={acks}")
    got = kcat(broker, "-C", "-q", "-t", topic, "-p", "0", "-o", "beginning", "-c", "10")
    assert got == lines(10)


@covers("large-records", "too-large-refused")
def test_large_records_where_the_limit_allows_them(broker: str, topic: str) -> None:
    create(broker, topic, configs={"max.message.bytes": "3000000"})
    allow = ("-X", "message.max.bytes=5000000")
    write(broker, topic, "x" * 2_000_000 + "\n", *allow)
    assert len(read(broker, topic, "-X", "fetch.message.max.bytes=4000000")) == 2_000_001
    refused = run(broker, "-P", "-t", topic, *allow, stdin="x" * 4_000_000 + "\n")
    assert "Message size too large" in refused.stdout + refused.stderr


@covers("seek", "assignment")
def test_reading_starts_where_it_is_asked_to(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, lines(10))
    assert read(broker, topic, "-o", "7") == "line 7\nline 8\nline 9\n"
    assert read(broker, topic, "-o", "-2") == "line 8\nline 9\n"
    assert read(broker, topic, "-o", "end") == ""


@covers("offsets-by-time", "special-timestamps", "list-offsets")
def test_offsets_are_found_by_time(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, lines(3))
    asked = ("-Q", "-t", f"{topic}:0:0", "-t", f"{topic}:0:-1", "-t", f"{topic}:0:-2")
    assert kcat(broker, *asked[:3]).strip() == f"{topic} [0] offset 0"
    assert kcat(broker, "-Q", *asked[3:5]).strip() == f"{topic} [0] offset 3"
    assert kcat(broker, "-Q", *asked[5:]).strip() == f"{topic} [0] offset 0"
    assert read(broker, topic, "-o", "s@0") == lines(3)


@covers("create-time")
def test_timestamps_are_the_producers(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, lines(2))
    first, second = (int(each) for each in read(broker, topic, "-f", "%T\\n").split())
    assert 1_600_000_000_000 < first <= second


@covers("out-of-range")
def test_an_offset_out_of_range_is_reset(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, lines(3))
    got = read(broker, topic, "-o", "1000", "-X", "topic.auto.offset.reset=smallest")
    assert got == lines(3)


@covers("unknown-topic")
def test_a_partition_that_is_not_there_is_an_error(broker: str, topic: str) -> None:
    create(broker, topic)
    done = run(broker, "-P", "-t", topic, "-p", "9", stdin="lost\n")
    assert "Unknown partition" in done.stdout + done.stderr


@covers("list-topics", "describe-cluster")
def test_metadata_lists_brokers_and_partitions(broker: str, nodes: int, topic: str) -> None:
    create(broker, topic, partitions=2)
    told = kcat(broker, "-L", "-t", topic)
    counted = re.search(r" (\d+) brokers:", told)
    assert counted is not None
    assert int(counted[1]) >= nodes
    assert broker in told
    assert f'topic "{topic}" with 2 partitions:' in told
    one = r"partition 1, leader (\d), replicas: (\1[\d,]*), isrs: \2"
    assert re.search(one, told)


@covers("auto-create")
def test_a_topic_is_made_by_writing_to_it(broker: str, topic: str) -> None:
    kcat(broker, "-P", "-t", topic, stdin="first\n")
    assert kcat(broker, "-C", "-q", "-e", "-t", topic, "-o", "beginning") == "first\n"


@covers("subscribe", "commit", "many-partitions")
def test_a_group_goes_on_where_it_left(broker: str, topic: str, group: str) -> None:
    create(broker, topic, partitions=3)
    kcat(broker, "-P", "-t", topic, stdin=lines(30))
    member = ("-G", group, "-q", "-X", "auto.offset.reset=earliest")
    first = kcat(broker, *member, "-c", "30", topic)
    assert sorted(first.splitlines()) == sorted(lines(30).splitlines())
    write(broker, topic, "late\n")
    assert kcat(broker, *member, "-c", "1", topic) == "late\n"


@covers("txn-commit", "txn-isolation")
def test_a_transaction_of_one_run(broker: str, topic: str) -> None:
    create(broker, topic)
    write(broker, topic, lines(20), "-X", f"transactional.id=id-{topic}")
    assert read(broker, topic, "-X", "isolation.level=read_committed") == lines(20)
