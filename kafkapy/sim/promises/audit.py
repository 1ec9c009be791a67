"""The audit after a start: what was promised is there, nothing else is, and it stays so.

    metadata    answered changes happened, the one in limbo happened whole or not at all
    partitions  `PartitionPromises.recovered`, over everything a consumer can read
    indexes     fetches and lookups by time land where a scan says they must

`same_again` kills the node and starts it once more: a second recovery changes nothing.
"""

from typing import Any, Final

from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.image.image import BROKER_RESOURCE, TOPIC_RESOURCE
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.clients.producers import Producer
from kafkapy.sim.clients.reading import fetch_now, list_offset, read_all
from kafkapy.sim.clients.state import Altering, AlteringBroker, Clients, Creating, Deleting, Growing
from kafkapy.sim.promises.partitions import BrokenPromise, Contents, Death, PartitionPromises
from kafkapy.sim.promises.topics import TopicFacts
from kafkapy.sim.world.rng import SimRng
from kafkapy.sim.world.world import World

# Sources of a setting (DescribeConfigs): where what was altered is told.
_OF_THE_TOPIC: Final = (TOPIC_RESOURCE, 1)
_OF_THE_BROKER: Final = (BROKER_RESOURCE, 2)
_OF_ALL_BROKERS: Final = (BROKER_RESOURCE, 3)
_PROBES: Final = 3

Everything = dict[PartitionPromises, Contents]


def audit(world: World, clients: Clients, death: Death | None) -> Everything:
    """After a start. `death` is how the life before ended; None: there was none."""
    check_metadata(world, clients)
    everything = {}
    rng = clients.rng.fork(f"audit {world.boots}")
    for promises in clients.all_partitions():
        contents = everything[promises] = read_all(world, promises, rng)
        if death is not None:
            had_lost = promises.recovered(contents, death, world.clock.now())
            if had_lost:
                _outdate(clients, promises)
        probe(world, promises, contents, rng)
    return everything


def begin_idempotence(world: World, clients: Clients, producer: Producer) -> None:
    """A producer id, which nobody else may ever have had."""
    producer.take_id(world)
    if producer.producer_id in clients.producer_ids:
        raise BrokenPromise(f"producer id {producer.producer_id} was given out twice")
    clients.producer_ids.add(producer.producer_id)


def check_metadata(world: World, clients: Clients) -> None:
    found = _topics(world)
    _settle_limbo(world, clients, found)
    for name, topic in clients.topics.items():
        if name not in found:
            raise BrokenPromise(f"topic {name} is gone ({topic.describe()})")
        _require(found[name][0] == topic.topic_id, f"{name} has id {found[name][0]}", topic)
        count = found[name][1]
        _require(count == topic.partition_count, f"{name} has {count} partitions", topic)
        settings = _settings(world, name, _OF_THE_TOPIC)
        _require(settings == topic.settings, f"{name} has {settings}", topic)
    for broker, settings in clients.broker_settings.items():
        there = _broker_settings(world, broker)
        if there != settings:
            raise BrokenPromise(f"broker {broker!r} has {there}, and was given {settings}")
    for name in found.keys() - clients.topics.keys():
        raise BrokenPromise(f"topic {name} {found[name]} was never created, or was deleted")


def probe(world: World, promises: PartitionPromises, contents: Contents, rng: SimRng) -> None:
    """Offsets and timestamps at random: the indexes must lead where a scan would."""
    found = contents.records
    for _ in range(min(_PROBES, len(found))):
        wanted = rng.choice(found)
        fetched = fetch_now(world, promises, wanted.offset, 1)
        promises.require(
            bool(fetched.records) and fetched.records[0] == wanted,
            f"at {wanted.offset} is {fetched}, and a scan found {wanted}",
        )
        timestamp = wanted.timestamp + rng.below(2)
        offset = list_offset(world, promises, timestamp)
        expected = next((one.offset for one in found if one.timestamp >= timestamp), -1)
        promises.require(
            offset == expected, f"time {timestamp} is at {offset}, a scan says {expected}"
        )


def same_again(world: World, clients: Clients, before: Everything) -> None:
    """A second recovery changes nothing; also nothing in the segment files, but of those
    that are on their way to another directory."""
    moving = _moving(world)
    files = segment_files(world, moving)
    world.kill()
    world.start()
    after = segment_files(world, moving)
    if files != after:
        changed = sorted(path for path in {*files, *after} if files.get(path) != after.get(path))
        raise BrokenPromise(f"a second recovery changed {changed}")
    check_metadata(world, clients)
    rng = clients.rng.fork(f"again {world.boots}")
    for promises, contents in before.items():
        promises.high_watermark = 0
        again = read_all(world, promises, rng)
        promises.require(again == contents, f"recovered to {contents}, then to {again}")


def segment_files(world: World, without: frozenset[str] = frozenset()) -> dict[str, bytes]:
    """What the partitions' segments hold, by path; not the metadata log, which grows."""
    disk = world.disk
    files = {}
    for root in world.settings["log.dirs"].split(","):
        for name in disk.list(root):
            if name.startswith("__") or name in without:
                continue
            directory = f"{root}/{name}"
            if disk.is_directory(directory) and name.rpartition("-")[2].isdigit():
                for file in disk.list(directory):
                    if file.endswith(".log"):
                        files[f"{directory}/{file}"] = disk.read_file(f"{directory}/{file}")
    return files


def _moving(world: World) -> frozenset[str]:
    """The directories of partitions that have another one which will take their place."""
    names = [
        name for root in world.settings["log.dirs"].split(",") for name in world.disk.list(root)
    ]
    return frozenset(name.partition(".")[0] for name in names if name.endswith("-future"))


def _outdate(clients: Clients, promises: PartitionPromises) -> None:
    """Acknowledged records were lost, as they may be: their producers cannot go on."""
    for producer in clients.producers:
        if producer.sequences.get(promises, 0):
            producer.is_outdated = True


def _settle_limbo(world: World, clients: Clients, found: dict[str, tuple[Any, int]]) -> None:
    limbo, clients.limbo = clients.limbo, None
    match limbo:
        case Creating(name, partition_count, settings):
            if name in found:
                topic_id = found[name][0]
                clients.created(TopicFacts(name, topic_id, partition_count, settings))
        case Deleting(topic):
            if topic.name not in found:
                clients.deleted(topic)
        case Growing(topic, partition_count):
            if found.get(topic.name, (None, 0))[1] == partition_count:
                clients.grown(topic, partition_count)
        case Altering(topic, settings):
            there = _settings(world, topic.name, _OF_THE_TOPIC)
            topic.altered(settings if there == settings else topic.settings)
        case AlteringBroker(broker, settings):
            if _broker_settings(world, broker) == settings:
                clients.broker_settings[broker] = settings
        case None:
            pass


def _topics(world: World) -> dict[str, tuple[Any, int]]:
    body = {"topics": None, "allow_auto_topic_creation": False}
    answer = world.ask(ApiKey.METADATA, body)
    return {
        topic.name: (topic.topic_id, len(topic.partitions))
        for topic in answer.topics
        if not topic.is_internal
    }


def _broker_settings(world: World, broker: str) -> dict[str, str]:
    return _settings(world, broker, _OF_THE_BROKER if broker else _OF_ALL_BROKERS)


def _settings(world: World, name: str, kind: tuple[int, int]) -> dict[str, str]:
    """What was altered of a topic or broker, by what DescribeConfigs tells."""
    resource_type, source = kind
    resource = {
        "resource_type": resource_type,
        "resource_name": name,
        "configuration_keys": None,
    }
    answer = world.ask(ApiKey.DESCRIBE_CONFIGS, {"resources": [resource]})
    result = answer.results[0]
    if result.error_code:
        raise BrokenPromise(f"DescribeConfigs of {name}: {ErrorCode(result.error_code)!r}")
    return {
        config.name: config.value for config in result.configs if config.config_source == source
    }


def _require(holds: bool, message: str, topic: TopicFacts) -> None:
    if not holds:
        raise BrokenPromise(f"{message} ({topic.describe()})")
