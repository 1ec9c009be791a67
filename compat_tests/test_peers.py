"""kafkapy and Apache Kafka as nodes of one cluster: observers, brokers, controllers, voters.

Who is there, who leads and what is in the metadata is asked with Apache Kafka's own tools.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from compat_tests.clusters import APACHE, BROKER, COMBINED, CONTROLLER, KAFKAPY, Cluster, Node
from compat_tests.installation import Unavailable, require
from compat_tests.oracle import run_tool
from compat_tests.waiting import wait_for

# A snapshot soon, so that who comes late is sent one.
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
_METADATA = "__cluster_metadata-0"
_ENDPOINT = re.compile(r"^(\d+)\s+127\.0\.0\.1\s+(\d+)\s+\S+\s+(fenced|unfenced)", re.MULTILINE)

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.xdist_group("peers")]

Started = Callable[[list[Node]], Cluster]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """A cluster of these nodes, all there."""
    try:
        require()
    except Unavailable as reason:
        pytest.skip(str(reason))
    clusters: list[Cluster] = []

    def start(nodes: list[Node]) -> Cluster:
        cluster = Cluster(tmp_path, nodes, SNAPSHOTS)
        clusters.append(cluster)
        cluster.start([one.node_id for one in nodes if one.node_id < LATE])
        return cluster

    yield start
    for cluster in clusters:
        cluster.close()


# Nodes from this id on are started by the test.
LATE = 8


def tool(name: str, *arguments: str) -> str:
    done = run_tool(name, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def leader(cluster: Cluster, asked: list[int]) -> int | None:
    """Who leads the quorum, as one of these controllers tells."""
    at = ",".join(map(cluster.controller_address, asked))
    done = run_tool("kafka-metadata-quorum", "--bootstrap-controller", at, "describe", "--status")
    found = re.search(r"LeaderId:\s+(\d+)", done.stdout)
    return None if found is None else int(found[1])


def replication(cluster: Cluster) -> dict[int, tuple[str, int]]:
    """Node -> (Leader, Follower or Observer, lag)."""
    at = ("--bootstrap-controller", cluster.controllers)
    told = tool("kafka-metadata-quorum", *at, "describe", "--replication")
    rows = [line.split() for line in told.splitlines()[1:] if line.strip()]
    return {int(row[0]): (row[-1], int(row[3])) for row in rows}


def endpoints(cluster: Cluster, asked: int) -> dict[int, str]:
    """Broker -> fenced or unfenced, as one of them tells."""
    told = tool(
        "kafka-cluster", "list-endpoints", "--include-fenced-brokers",
        "--bootstrap-server", cluster.address(asked),
    )  # fmt: skip
    return {int(node_id): state for node_id, _, state in _ENDPOINT.findall(told)}


def told(cluster: Cluster, asked: int) -> list[str]:
    """All that is in the metadata as clients see it: topics, their configs and partitions."""
    at = ("--bootstrap-server", cluster.address(asked))
    topics = tool("kafka-topics", *at, "--describe").splitlines()
    settings = tool("kafka-configs", *at, "--describe", "--entity-type", "topics").splitlines()
    return sorted(line.replace("\t", " ").strip() for line in topics + settings)


def assert_same_bytes(cluster: Cluster, one: int, other: int) -> None:
    """Who is behind has fewer batches, and none that differs."""
    ours, theirs = cluster.metadata(one), cluster.metadata(other)
    both = sorted(ours.keys() & theirs.keys())
    assert len(both) > 3, (sorted(ours), sorted(theirs))
    assert [at for at in both if ours[at] != theirs[at]] == []


def snapshots(cluster: Cluster, node_id: int) -> list[Path]:
    """Without the one that a format makes."""
    found = (cluster.data(node_id) / _METADATA).glob("*.checkpoint")
    return [one for one in found if not one.name.startswith("0" * 20)]


def make_topics(cluster: Cluster, asked: int, names: list[str]) -> None:
    for name in names:
        tool(
            "kafka-topics", "--bootstrap-server", cluster.address(asked), "--create",
            "--topic", name, "--partitions", "7", "--config", "retention.ms=123456",
            "--config", "cleanup.policy=compact",
        )  # fmt: skip


def test_ours_follows_their_controllers_and_registers(started: Started) -> None:
    """Their controllers, one broker of each kind: the metadata logs are the same bytes, our
    broker tells of the same topics, also one that comes late and is sent a snapshot."""
    nodes = [Node(one, APACHE, CONTROLLER) for one in (1, 2, 3)]
    nodes += [Node(4, APACHE, BROKER), Node(5, KAFKAPY, BROKER), Node(LATE, KAFKAPY, BROKER)]
    cluster = started(nodes)
    assert endpoints(cluster, 5) == endpoints(cluster, 4) == {4: "unfenced", 5: "unfenced"}
    assert replication(cluster)[5][0] == "Observer"
    make_topics(cluster, 5, ["asked-of-ours"])
    make_topics(cluster, 4, ["asked-of-theirs"])
    wait_for("ours tells the same", lambda: told(cluster, 5) == told(cluster, 4))
    first = leader(cluster, [1, 2, 3])
    assert first is not None
    assert_same_bytes(cluster, 5, first)
    cluster.kill(first)
    left = [one for one in (1, 2, 3) if one != first]
    wait_for("another leads", lambda: leader(cluster, left) in left)
    cluster.start([LATE])
    make_topics(cluster, LATE, ["after-the-fail-over"])
    wait_for("the late one tells the same", lambda: told(cluster, LATE) == told(cluster, 4))
    wait_for("ours follows on", lambda: told(cluster, 5) == told(cluster, 4))
    assert endpoints(cluster, LATE) == {4: "unfenced", 5: "unfenced", LATE: "unfenced"}
    assert snapshots(cluster, LATE), "it was sent one"


def test_their_broker_registers_with_our_controllers(started: Started) -> None:
    nodes = [Node(one, KAFKAPY, CONTROLLER) for one in (1, 2, 3)]
    nodes += [Node(4, APACHE, BROKER), Node(5, KAFKAPY, BROKER), Node(LATE, APACHE, BROKER)]
    cluster = started(nodes)
    assert endpoints(cluster, 4) == endpoints(cluster, 5) == {4: "unfenced", 5: "unfenced"}
    assert replication(cluster)[4][0] == "Observer"
    make_topics(cluster, 4, ["asked-of-theirs"])
    make_topics(cluster, 5, ["asked-of-ours"])
    wait_for("theirs tells the same", lambda: told(cluster, 4) == told(cluster, 5))
    first = leader(cluster, [1, 2, 3])
    assert first is not None
    assert_same_bytes(cluster, first, 4)
    cluster.kill(first)
    left = [one for one in (1, 2, 3) if one != first]
    wait_for("another leads", lambda: leader(cluster, left) in left)
    cluster.start([LATE])
    make_topics(cluster, LATE, ["after-the-fail-over"])
    wait_for("the late one tells the same", lambda: told(cluster, LATE) == told(cluster, 5))
    wait_for("theirs follows on", lambda: told(cluster, 4) == told(cluster, 5))
    assert snapshots(cluster, LATE), "it was sent one"


def test_voters_of_both_kinds_elect_and_fail_over(started: Started) -> None:
    """Two of ours, one of theirs: whoever leads is killed, until each kind has led."""
    nodes = [Node(1, KAFKAPY, COMBINED), Node(2, KAFKAPY, COMBINED), Node(3, APACHE, COMBINED)]
    cluster = started(nodes)
    led: set[str] = set()
    for round_number in range(8):
        first = wait_for("somebody leads", lambda: leader(cluster, [1, 2, 3]))
        led.add(cluster.nodes[first].server)
        left = [one for one in (1, 2, 3) if one != first]
        make_topics(cluster, left[0], [f"topic-{round_number}"])
        if led == {APACHE, KAFKAPY} and round_number > 1:
            break
        cluster.kill(first)
        wait_for("another leads", lambda: leader(cluster, left) in left)  # noqa: B023
        cluster.start([first])
    assert led == {APACHE, KAFKAPY}
    all_there = dict.fromkeys((1, 2, 3), "unfenced")
    wait_for("all are unfenced", lambda: endpoints(cluster, 1) == all_there)
    wait_for("both tell the same", lambda: told(cluster, 1) == told(cluster, 3))
    wait_for("nobody lags", lambda: all(lag == 0 for _, lag in replication(cluster).values()))


def make_replicated(cluster: Cluster, name: str, replicas: list[int]) -> None:
    """One partition, led by the first of them."""
    tool(
        "kafka-topics", "--bootstrap-server", cluster.address(replicas[0]), "--create",
        "--topic", name, "--replica-assignment", ":".join(map(str, replicas)),
        "--config", "segment.bytes=1048576",
    )  # fmt: skip


def produce(cluster: Cluster, topic: str, codec: str, count: int) -> None:
    """acks=all, idempotent; every record is acknowledged."""
    failed: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "enable.idempotence": "true",
            "compression.type": codec,
        }
    )
    for number in range(count):
        value = f"{topic} {codec} {number}".encode() * 30
        producer.produce(
            topic, value, key=str(number), on_delivery=lambda error, _: failed.append(error)
        )
        producer.poll(0)
    assert producer.flush(60) == 0
    assert failed == [None] * count


def files(cluster: Cluster, node_id: int, topic: str) -> dict[str, bytes]:
    found = (cluster.data(node_id) / f"{topic}-0").glob("*.log")
    return {path.name: path.read_bytes() for path in found}


def test_followers_of_both_kinds_have_their_leaders_bytes(started: Started) -> None:
    """A topic led by theirs and followed by ours, one the other way round; then the leader of
    each dies, the follower leads, and the old leader follows."""
    nodes = [Node(1, KAFKAPY, CONTROLLER), Node(4, APACHE, BROKER), Node(5, KAFKAPY, BROKER)]
    cluster = started(nodes)
    topics = {"theirs-leads": [4, 5], "ours-leads": [5, 4]}
    for topic, replicas in topics.items():
        make_replicated(cluster, topic, replicas)
        for codec in ("none", "lz4", "zstd"):
            produce(cluster, topic, codec, 3000)
    assert_replicated(cluster, topics)
    count = 9000
    for dies in (4, 5):
        cluster.kill(dies)
        left = 9 - dies
        for topic in topics:
            wait_for("the other leads", lambda: partition_leader(cluster, left, topic) == left)  # noqa: B023
            produce(cluster, topic, "gzip", 500)
        cluster.start([dies])
        count += 500
        assert_replicated(cluster, topics)
    for topic in topics:
        assert read(cluster, topic) == count, "what was acknowledged is there, once"
    cluster.stop([4, 5])  # ours writes them down when it flushes
    for topic in topics:
        assert all(map(operator.eq, epochs(cluster, 4, topic), epochs(cluster, 5, topic)))
        assert len(epochs(cluster, 4, topic)) > 1


def epochs(cluster: Cluster, node_id: int, topic: str) -> list[str]:
    """Epoch and first offset of each; who led last knows of an epoch without records."""
    found = cluster.data(node_id) / f"{topic}-0" / "leader-epoch-checkpoint"
    return found.read_text().splitlines()[2:]


def assert_replicated(cluster: Cluster, topics: Iterable[str]) -> None:
    for topic in topics:
        wait_for("both in sync", lambda: in_sync(cluster, topic) == {4, 5})  # noqa: B023
        wait_for("same bytes", lambda: files(cluster, 4, topic) == files(cluster, 5, topic))  # noqa: B023
        assert len(files(cluster, 4, topic)) > 1, "several segments"


def partition_leader(cluster: Cluster, asked: int, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.address(asked)})
    leader_id: int = admin.list_topics(topic, 30).topics[topic].partitions[0].leader
    return leader_id


def in_sync(cluster: Cluster, topic: str) -> set[int]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    return set(admin.list_topics(topic, 30).topics[topic].partitions[0].isrs)


def read(cluster: Cluster, topic: str) -> int:
    """How many records there are."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "none", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    count = 0
    while True:
        message = consumer.poll(60)
        assert message is not None, count
        if (error := message.error()) is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            consumer.close()
            return count
        count += 1
