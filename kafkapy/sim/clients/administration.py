"""What administrators do: create, delete, alter, grow, move, delete records.

Each asks and waits, while everything else goes on; the change stands in `Clients.limbo`
until it is answered, in case the node dies meanwhile.
"""

from typing import Any, Final

from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.image.image import BROKER_RESOURCE, TOPIC_RESOURCE
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.clients.state import (
    TOPIC_NAMES,
    Altering,
    AlteringBroker,
    Clients,
    Creating,
    Deleting,
    Growing,
)
from kafkapy.sim.clients.topic_settings import draw_broker_settings, draw_change, draw_settings
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.promises.topics import TopicFacts
from kafkapy.sim.world.rng import SimRng
from kafkapy.sim.world.world import World

_MOST_PARTITIONS: Final = 4
_SET, _DELETE = 0, 1


class Administration:
    def __init__(self, world: World, clients: Clients, rng: SimRng) -> None:
        self._world = world
        self._clients = clients
        self._rng = rng

    def create_topic(self) -> None:
        rng, clients = self._rng, self._clients
        free = [name for name in TOPIC_NAMES if name not in clients.topics]
        if not free:
            return
        name, settings = rng.choice(free), draw_settings(rng)
        count = rng.between(1, 3)
        clients.limbo = Creating(name, count, settings)
        topic = {
            "name": name,
            "num_partitions": count,
            "replication_factor": 1,
            "assignments": [],
            "configs": [{"name": key, "value": value} for key, value in settings.items()],
        }
        body = {"topics": [topic], "timeout": 30_000, "validate_only": False}
        answer = self._world.ask(ApiKey.CREATE_TOPICS, body).topics[0]
        self._require(answer)
        clients.limbo = None
        clients.created(TopicFacts(name, answer.topic_id, count, settings))

    def delete_topic(self) -> None:
        clients = self._clients
        if not clients.topics:
            return
        topic = self._rng.choice(list(clients.topics.values()))
        clients.limbo = Deleting(topic)
        body = {"topics": [{"name": topic.name, "topic_id": None}], "timeout": 30_000}
        self._require(self._world.ask(ApiKey.DELETE_TOPICS, body).responses[0])
        clients.deleted(topic)
        clients.limbo = None

    def alter_topic(self) -> None:
        clients, rng = self._clients, self._rng
        if not clients.topics:
            return
        topic = rng.choice(list(clients.topics.values()))
        wanted = draw_change(rng, topic.settings)
        settings = {**topic.settings, **wanted}
        configs = [
            {"name": name, "config_operation": _SET, "value": value}
            for name, value in wanted.items()
        ]
        if rng.chance(20) and "flush.messages" in settings and "flush.messages" not in wanted:
            del settings["flush.messages"]
            configs.append({"name": "flush.messages", "config_operation": _DELETE, "value": None})
        topic.altering(settings)
        clients.limbo = Altering(topic, settings)
        resource = {
            "resource_type": TOPIC_RESOURCE,
            "resource_name": topic.name,
            "configs": configs,
        }
        body = {"resources": [resource], "validate_only": False}
        self._require(self._world.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body).responses[0])
        topic.altered(settings)
        clients.limbo = None

    def alter_broker(self) -> None:
        clients = self._clients
        broker = self._rng.choice(list(clients.broker_settings))
        wanted = draw_broker_settings(self._rng)
        settings = {**clients.broker_settings[broker], **wanted}
        clients.limbo = AlteringBroker(broker, settings)
        resource = {
            "resource_type": BROKER_RESOURCE,
            "resource_name": broker,
            "configs": [
                {"name": name, "config_operation": _SET, "value": value}
                for name, value in wanted.items()
            ],
        }
        body = {"resources": [resource], "validate_only": False}
        self._require(self._world.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, body).responses[0])
        clients.broker_settings[broker] = settings
        clients.limbo = None

    def add_partitions(self) -> None:
        clients = self._clients
        small = [one for one in clients.topics.values() if one.partition_count < _MOST_PARTITIONS]
        if not small:
            return
        topic = self._rng.choice(small)
        count = topic.partition_count + 1
        clients.limbo = Growing(topic, count)
        asked = {"name": topic.name, "count": count, "assignments": None}
        body = {"topics": [asked], "timeout": 30_000, "validate_only": False}
        self._require(self._world.ask(ApiKey.CREATE_PARTITIONS, body).results[0])
        clients.grown(topic, count)
        clients.limbo = None

    def delete_records(self) -> None:
        """As far as a consumer has seen, where the topic's policy lets clients delete."""
        clients, rng = self._clients, self._rng
        deletable = [
            one
            for one in clients.all_partitions()
            if "delete" in one.topic.settings.get("cleanup.policy", "delete")
            and one.high_watermark > 0
        ]
        if not deletable:
            return
        promises = rng.choice(deletable)
        offset = rng.below(promises.high_watermark + 1)
        promises.deleted_below = max(promises.deleted_below, offset)
        partition = {"partition_index": promises.index, "offset": offset}
        topic = {"name": promises.topic.name, "partitions": [partition]}
        answer = self._world.ask(ApiKey.DELETE_RECORDS, {"topics": [topic], "timeout": 30_000})
        only = answer.topics[0].partitions[0]
        promises.require(
            only.error_code == 0 and only.low_watermark >= offset,
            f"DeleteRecords below {offset}: {only}",
        )

    def move_partition(self) -> None:
        """To the other log directory, or back before it has arrived there."""
        partitions = self._clients.all_partitions()
        if not partitions:
            return
        promises = self._rng.choice(partitions)
        path = self._rng.choice(self._world.settings["log.dirs"].split(","))
        topic = {"name": promises.topic.name, "partitions": [promises.index]}
        body = {"dirs": [{"path": path, "topics": [topic]}]}
        answer = self._world.ask(ApiKey.ALTER_REPLICA_LOG_DIRS, body)
        self._require(answer.results[0].partitions[0])

    def _require(self, answer: Any) -> None:
        if answer.error_code:
            raise BrokenPromise(f"{ErrorCode(answer.error_code)!r} answered: {answer}")
