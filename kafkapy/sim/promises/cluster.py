"""What is there when a cluster is healed: judged once everybody is done.

records     everything is read from the start to the end: Jepsen's list (sim/checkers), nothing
            that nobody sent, no end before what was acknowledged; a reader that comes to a gap
            says so itself (sim/clients/committed_reader.py)
metadata    every broker tells what the administrator was told
images      every node has the same one
"""

from collections.abc import Sequence
from typing import Any, Final

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.image.image import TOPIC_RESOURCE
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import batches
from kafkapy.sim.checkers import History, Outcome, check
from kafkapy.sim.checkers.history import Partition, all_polls, all_sends
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Sleep
from kafkapy.sim.clients.committed_reader import CommittedReader
from kafkapy.sim.cluster.clients.administrator import Administrator, Topic
from kafkapy.sim.cluster.clients.routed import RETRY_MS, Talk
from kafkapy.sim.cluster.clients.watcher import latest
from kafkapy.sim.cluster.world import ClusterWorld
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.promises.quorum import digest_of

_A_LOT: Final = 1 << 20
ONLOOKER: Final = 1_000
_LOOKS_EVERY_MS: Final = 100
_OF_THE_TOPIC: Final = 1  # the source of a setting, in DescribeConfigs


def read_everything(
    history: History, partitions: Sequence[TopicPartition], values: dict[TopicPartition, list[str]]
) -> Actor:
    """A fresh reader, from the start to where the leader says that the partition ends."""
    reader = CommittedReader(history, ONLOOKER)
    for partition in partitions:
        end = yield from _end_of(partition)
        values[partition] = found = []
        while reader.positions.get(partition, 0) < end:
            before = reader.positions.get(partition, 0)
            found += yield from reader.poll(partition, _A_LOT)
            if reader.positions[partition] == before:
                yield Sleep(RETRY_MS)


def _end_of(partition: TopicPartition) -> Talk:
    while True:
        answer = yield latest(partition, 0)
        if answer is not LOST and answer.topics[0].partitions[0].error_code == 0:
            return answer.topics[0].partitions[0].offset
        yield Sleep(RETRY_MS)


def judge_history(history: History) -> None:
    anomalies = check(history)
    if anomalies:
        first = "\n".join(str(one) for one in anomalies[:5])
        raise BrokenPromise(f"{len(anomalies)} anomalies\n{first}")
    sent = {(one.send.partition, one.send.value) for one in all_sends(history)}
    ends: dict[Partition, int] = {}
    for by, poll in all_polls(history):
        for read in poll.reads:
            if (poll.partition, read.value) not in sent:
                raise BrokenPromise(f"{by} read {read.value!r}, and nobody sent it")
        if by.process == ONLOOKER:
            ends[poll.partition] = poll.next_position
    # What is lost at the end of a log no reader passes over.
    for by, send in all_sends(history):
        end = ends.get(send.partition, 0)
        if by.outcome is Outcome.OK and send.offset is not None and send.offset >= end:
            raise BrokenPromise(f"{by} wrote {send}, and the partition ends at {end}")


def judge_images(world: ClusterWorld, within_ms: int) -> None:
    """Whoever is behind catches up; then all have the same."""
    for _ in range(within_ms // _LOOKS_EVERY_MS):
        images = {
            host.name: host.node.image for host in world.hosts.values() if host.node is not None
        }
        if len(set(map(digest_of, images.values()))) == 1:
            return
        world.run(_LOOKS_EVERY_MS)
    offsets = {name: image.offset for name, image in images.items()}
    raise BrokenPromise(f"the nodes' metadata differ after {within_ms} ms, by offset: {offsets}")


def judge_replicas(world: ClusterWorld, within_ms: int) -> None:
    """Nobody writes any more: replicas catch up, then they are equal from where all of them begin.
    Each cleans for itself, so that compacted ones are not."""
    said = ""
    for _ in range(within_ms // _LOOKS_EVERY_MS):
        said = _what_differs(world)
        if not said:
            return
        world.run(_LOOKS_EVERY_MS)
    raise BrokenPromise(f"{said}, {within_ms} ms after all were in sync")


def _what_differs(world: ClusterWorld) -> str:
    found: dict[TopicPartition, dict[str, bytes]] = {}
    starts: dict[TopicPartition, int] = {}
    for host in world.brokers:
        assert host.node is not None
        assert host.node.broker is not None
        for partition in host.node.broker.partitions:
            log = partition.log
            if log.config.is_compacted:
                continue
            data = b"".join(host.disk.contents(one.file.path) for one in log.segments)
            found.setdefault(partition.topic_partition, {})[host.name] = data
            start = max(starts.get(partition.topic_partition, 0), log.log_start_offset)
            starts[partition.topic_partition] = start
    for topic_partition, wholes in found.items():
        start = starts[topic_partition]
        copies = {name: _from(data, start) for name, data in wholes.items()}
        if len(set(copies.values())) > 1:
            sizes = {name: len(data) for name, data in copies.items()}
            return f"the replicas of {topic_partition} differ, of {sizes} bytes"
    return ""


def _from(data: bytes, offset: int) -> bytes:
    """Batches that are deleted by DeleteRecords may still be there, or not any more."""
    for position, header in batches(data):
        if header.last_offset >= offset:
            return data[position:]
    return b""


def look_at_metadata(admin: Administrator, broker: int) -> Actor:
    """What one broker tells is what was promised."""
    body = {"topics": None, "allow_auto_topic_creation": False}
    answer = yield from _heard(Ask(ApiKey.METADATA, 12, body, broker))
    found = {one.name: len(one.partitions) for one in answer.topics}
    for topic in admin.topics.values():
        if found.get(topic.name) != topic.partition_count:
            raise BrokenPromise(
                f"broker {broker}: {topic.name} has {found.get(topic.name, 'no')} partitions, "
                f"and {topic.partition_count} were acknowledged"
            )
        yield from _look_at_settings(topic, broker)
    for name in admin.deleted - admin.ghosts:
        if name in found:
            raise BrokenPromise(f"broker {broker}: {name} is there, and was deleted")


def _look_at_settings(topic: Topic, broker: int) -> Talk:
    row = {
        "resource_type": TOPIC_RESOURCE,
        "resource_name": topic.name,
        "configuration_keys": None,
    }
    answer = yield from _heard(Ask(ApiKey.DESCRIBE_CONFIGS, 4, {"resources": [row]}, broker))
    result = answer.results[0]
    if result.error_code:
        raise BrokenPromise(f"DescribeConfigs of {topic.name}: {ErrorCode(result.error_code)!r}")
    there = {one.name: one.value for one in result.configs if one.config_source == _OF_THE_TOPIC}
    for name, values in topic.settings.items():
        if there.get(name) not in values:
            raise BrokenPromise(
                f"broker {broker}: {name} of {topic.name} is {there.get(name)}, and one of "
                f"{sorted(values)} was acknowledged"
            )


def _heard(ask: Ask) -> Talk:
    answer: Any = LOST
    while answer is LOST:
        answer = yield ask
    return answer
