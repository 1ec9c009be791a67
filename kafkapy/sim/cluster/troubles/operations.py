"""What whoever operates the cluster does, at a bad time: moves replicas and leaders, changes
settings, lets controllers vote or not. Asked once, of any broker; who does not hear of it has bad
luck. Nothing here is taken back: a cluster is healthy in whatever way it was left.
"""

from collections.abc import Mapping
from typing import Any, Final

from kafkapy.kraft.image.image import BROKER_RESOURCE, TOPIC_RESOURCE
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.nemesis import Nemesis
from kafkapy.sim.cluster.world import CONTROLLER_PORT

_TIMEOUT_MS: Final = 5_000
_PREFERRED: Final = 0
_SET: Final = 0
# What clients were promised stays true under any of these.
_OF_TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "min.insync.replicas": ("1", "2"),
    "segment.ms": ("1000", "5000", "604800000"),
    "max.message.bytes": ("1048588", "2097176"),
    "compression.type": ("producer", "gzip", "lz4", "zstd"),
    "index.interval.bytes": ("64", "4096"),
    "follower.replication.throttled.replicas": ("*", ""),
    "leader.replication.throttled.replicas": ("*", ""),
}
_OF_BROKERS: Final[Mapping[str, tuple[str, ...]]] = {
    "follower.replication.throttled.rate": ("20000", "1000000000"),
    "leader.replication.throttled.rate": ("20000", "1000000000"),
    "num.replica.fetchers": ("1", "2"),
    "log.cleaner.threads": ("1", "2"),
}


def reassign(nemesis: Nemesis) -> None:
    """A partition to other brokers, as many as it has now; or to none: whatever is under way
    ends."""
    found = _partition(nemesis)
    if found is None:
        return
    topic, index, replicas = found
    wanted = None
    if nemesis.rng.chance(85):
        ids = [host.node_id for host in nemesis.world.brokers]
        wanted = _shuffled(nemesis, ids)[: len(replicas)]
    _reassign(nemesis, topic, index, wanted)


def move_leader(nemesis: Nemesis) -> None:
    """To another of its replicas, which is the preferred one from now on; or all back to those
    that are."""
    found = _partition(nemesis)
    if found is None:
        return
    elected = None
    if nemesis.rng.chance(60):
        topic, index, replicas = found
        _reassign(nemesis, topic, index, _shuffled(nemesis, list(replicas)))
        elected = [{"topic": topic, "partitions": [index]}]
    body = {
        "election_type": _PREFERRED,
        "topic_partitions": elected,
        "timeout": _TIMEOUT_MS,
    }
    _ask(nemesis, ApiKey.ELECT_LEADERS, body)


def change_configs(nemesis: Nemesis) -> None:
    """Of a topic that is not the administrator's, or of all brokers."""
    names = [name for name in _topics(nemesis) if not name.startswith("__")]
    if not names:
        return
    if nemesis.rng.chance(70):
        _change(nemesis, TOPIC_RESOURCE, nemesis.rng.choice(names), _OF_TOPICS)
    else:
        _change(nemesis, BROKER_RESOURCE, "", _OF_BROKERS)


def change_voters(nemesis: Nemesis) -> None:
    """A controller votes no longer, or again; two vote at least. Where the voters stand in the
    configuration nobody can change them."""
    world = nemesis.world
    active = world.active_controller
    if active is None or active.node is None or not world.has_dynamic_voters:
        return
    host = nemesis.rng.choice(world.controllers)
    if host.node is None:
        return
    key, voters = host.node.quorum.settings.local, active.node.quorum.voters
    body = {
        "cluster_id": None,
        "voter_id": host.node_id,
        "voter_directory_id": key.directory_id,
    }
    if not voters.has(key):
        listener = {"name": "CONTROLLER", "host": host.name, "port": CONTROLLER_PORT}
        more = {"timeout": _TIMEOUT_MS, "listeners": [listener], "ack_when_committed": True}
        _ask(nemesis, ApiKey.ADD_RAFT_VOTER, {**body, **more})
    elif len(voters.ids) > 2:
        _ask(nemesis, ApiKey.REMOVE_RAFT_VOTER, body)


def _partition(nemesis: Nemesis) -> tuple[str, int, tuple[int, ...]] | None:
    found = [
        (topic.name, index, state.replicas)
        for topic in nemesis.world.image_of_controller().topics_by_name.values()
        for index, state in topic.partitions.items()
    ]
    return nemesis.rng.choice(found) if found else None


def _topics(nemesis: Nemesis) -> list[str]:
    """Those that are there for good; of the others the administrator keeps count."""
    names = nemesis.world.image_of_controller().topics_by_name
    return [name for name in names if not name.startswith("made-")]


def _shuffled(nemesis: Nemesis, ids: list[int]) -> list[int]:
    left, found = sorted(ids), list[int]()
    while left:
        found.append(left.pop(nemesis.rng.below(len(left))))
    return found


def _reassign(nemesis: Nemesis, topic: str, index: int, replicas: list[int] | None) -> None:
    partition = {"partition_index": index, "replicas": replicas}
    body = {
        "topics": [{"name": topic, "partitions": [partition]}],
        "timeout": _TIMEOUT_MS,
    }
    _ask(nemesis, ApiKey.ALTER_PARTITION_REASSIGNMENTS, body)


def _change(
    nemesis: Nemesis, resource_type: int, name: str, settings: Mapping[str, tuple[str, ...]]
) -> None:
    setting = nemesis.rng.choice(list(settings))
    value = nemesis.rng.choice(settings[setting])
    row = {"name": setting, "config_operation": _SET, "value": value}
    resource = {"resource_type": resource_type, "resource_name": name, "configs": [row]}
    body = {"resources": [resource], "validate_only": False}
    _ask(nemesis, ApiKey.INCREMENTAL_ALTER_CONFIGS, body)


def _ask(nemesis: Nemesis, api: ApiKey, body: Mapping[str, Any]) -> None:
    asked = nemesis.rng.choice(nemesis.world.brokers)
    nemesis.note("asks", asked.name, api.name, body)
    nemesis.operator.send(
        asked.node_id, api, body, lambda answer: nemesis.note("hears", api.name, answer)
    )
