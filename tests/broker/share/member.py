"""A member of a share group, request by request, in a simulated cluster of three."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import batches, build_batch, records
from kafkapy.protocol.batches.records import NewRecord, Record
from kafkapy.sim.cluster.host import Host
from tests.sim.cluster.kit import Kit

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
GROUP_RESOURCE, TOPIC_RESOURCE, BROKER_RESOURCE = 32, 2, 4


class Got(NamedTuple):
    offset: int
    value: bytes | None
    delivery_count: int
    topic: str = ""


def configure(kit: Kit, resource_type: int, name: str, values: Mapping[str, str]) -> None:
    configs = [{"name": key, "config_operation": 0, "value": it} for key, it in values.items()]
    resource = {"resource_type": resource_type, "resource_name": name, "configs": configs}
    body = {"resources": [resource], "validate_only": False}
    node = kit.world.wait_for_controller().node_id
    answer = kit.client.ask(node, ApiKey.INCREMENTAL_ALTER_CONFIGS, body)
    assert answer.responses[0].error_code == ErrorCode.NONE, answer


def configure_group(kit: Kit, group: str = "g", **values: str) -> None:
    """It begins at the earliest."""
    told = {key.replace("_", "."): value for key, value in values.items()}
    configure(kit, GROUP_RESOURCE, group, {"share.auto.offset.reset": "earliest", **told})


def finalize(kit: Kit, feature: str, level: int) -> None:
    """Once all nodes have told the controller what they support."""
    is_upgrade = level > _level(kit.leader(), feature)
    kind = 1 if is_upgrade else 2
    update = {"feature": feature, "max_version_level": level, "upgrade_type": kind}
    body = {"feature_updates": [update], "timeout": 5_000, "validate_only": False}

    def is_taken() -> bool:
        node = kit.world.wait_for_controller().node_id
        return int(kit.client.ask(node, ApiKey.UPDATE_FEATURES, body).error_code) == 0

    for _ in range(50):
        if is_taken():
            break
        kit.world.run(200)
    kit.wait(lambda: all(_level(host, feature) == level for host in kit.world.brokers))


def _level(host: Host, feature: str) -> int:
    assert host.node is not None
    return host.node.image.features.get(feature, 0)


def log_of(kit: Kit, topic: str, index: int = 0) -> list[Record]:
    """What whoever leads it has, up to where consumers may read."""
    for host in kit.world.brokers:
        node = host.node
        if node is None or node.broker is None:
            continue
        partition = node.broker.partitions.get(topic, index)
        if partition is not None and partition.is_leader:
            log = partition.log
            _, slices, _ = log.read(log.log_start_offset, 1 << 24, upper=log.high_watermark)
            data = b"".join(one.read() for one in slices)
            return [
                one
                for at, header in batches(data)
                if not header.is_control
                for one in records(data[at : at + header.size])
            ]
    return []


class Member:
    """Of one group, reading partition 0 of topics. A session with each leader it meets."""

    def __init__(self, kit: Kit, name: str, group: str = "g", topics: Sequence[str] = ("t",)):
        self.kit = kit
        self.client = kit.client
        self.name = name
        self.group = group
        self.topics = tuple(topics)
        self.epoch = 0
        self.session_epoch = 0
        self._node = -1
        self._assigned: set[Any] = set()

    def join(self) -> "Member":
        """Until it has a partition of each of its topics."""
        for _ in range(100):
            self.beat()
            if len(self._assigned) >= len(self.topics):
                return self
            self.kit.world.run(300)
        raise AssertionError("no assignment")

    def beat(self) -> None:
        node = self.kit.leader().node_id
        body = {
            "group_id": self.group,
            "member_id": self.name,
            "member_epoch": self.epoch,
            "rack_id": None,
            "subscribed_topic_names": list(self.topics) if self.epoch == 0 else None,
        }
        find = {"key_type": 0, "coordinator_keys": [self.group]}
        found = self.client.ask(node, ApiKey.FIND_COORDINATOR, find).coordinators[0]
        if found.error_code:
            return
        answer = self.client.ask(found.node_id, ApiKey.SHARE_GROUP_HEARTBEAT, body)
        if answer.error_code == ErrorCode.NONE:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self._assigned = {one.topic_id for one in answer.assignment.topic_partitions}

    def fetch(
        self, *, max_records: int = 500, mode: int = 0, max_wait: int = 0, max_bytes: int = 1 << 20
    ) -> list[Got]:
        """From the leader of the first of its topics."""
        answer = self.try_fetch(max_records, mode, max_wait, max_bytes)
        assert answer.error_code == ErrorCode.NONE, answer
        return self._heard(answer)

    def fetch_later(self, *, max_wait: int, min_bytes: int = 1) -> list[list[Got]]:
        """Asked; what comes is put into the list."""
        answers: list[list[Got]] = []
        node, body = self._question(500, 0, max_wait, 1 << 20)
        self.client.send(
            node,
            ApiKey.SHARE_FETCH,
            {**body, "min_bytes": min_bytes},
            lambda answer: answers.append(self._heard(answer)),
        )
        return answers

    def try_got(self) -> list[Got]:
        """Nothing, if it is refused; then the session begins anew."""
        answer = self.try_fetch()
        if answer.error_code != ErrorCode.NONE:
            self.session_epoch = 0
            return []
        return self._heard(answer)

    def try_fetch(
        self, max_records: int = 500, mode: int = 0, max_wait: int = 0, max_bytes: int = 1 << 20
    ) -> Any:
        node, body = self._question(max_records, mode, max_wait, max_bytes)
        return self.client.ask(node, ApiKey.SHARE_FETCH, body)

    def _question(
        self, max_records: int, mode: int, max_wait: int, max_bytes: int
    ) -> tuple[int, dict[str, Any]]:
        node = self.leader()
        if self._node not in (node, -1):
            self.session_epoch = 0
        self._node = node
        places: list[dict[str, Any]] = []
        if self.session_epoch == 0:
            places = [self._place(topic) for topic in self.topics]
        body = {
            "group_id": self.group,
            "member_id": self.name,
            "share_session_epoch": self.session_epoch,
            "max_wait": max_wait,
            "min_bytes": 1,
            "max_bytes": max_bytes,
            "max_records": max_records,
            "batch_size": max_records,
            "share_acquire_mode": mode,
            "is_renew_ack": False,
            "topics": places,
            "forgotten_topics_data": [],
        }
        return node, body

    def _heard(self, answer: Any) -> list[Got]:
        assert answer.error_code == ErrorCode.NONE, answer
        self.session_epoch += 1
        self.errors = [
            ErrorCode(row.error_code) for topic in answer.responses for row in topic.partitions
        ]
        return [
            got
            for topic in answer.responses
            for row in topic.partitions
            for got in _acquired(row, self._name_of(topic.topic_id))
        ]

    def acknowledge(self, first: int, last: int, *types: int, topic: str = "") -> ErrorCode:
        """Records of its first topic, if none is named."""
        answer = self.try_acknowledge(first, last, *types, topic=topic)
        assert answer.error_code == ErrorCode.NONE, answer
        self.session_epoch += 1
        return ErrorCode(answer.responses[0].partitions[0].error_code)

    def try_acknowledge(self, first: int, last: int, *types: int, topic: str = "") -> Any:
        place = self._place(topic or self.topics[0])
        place["partitions"][0]["acknowledgement_batches"] = [
            {"first_offset": first, "last_offset": last, "acknowledge_types": list(types)}
        ]
        body = {
            "group_id": self.group,
            "member_id": self.name,
            "share_session_epoch": self.session_epoch,
            "is_renew_ack": RENEW in types,
            "topics": [place],
        }
        return self.client.ask(self.leader(), ApiKey.SHARE_ACKNOWLEDGE, body)

    def produce(self, *values: bytes, topic: str = "") -> None:
        """To its first topic, if none is named; acknowledged by all in sync."""
        name = topic or self.topics[0]
        now = self.kit.world.clock.now()
        batch = build_batch([NewRecord(value=value, timestamp=now) for value in values])
        leader = self.kit.leader_or_none(name)
        assert leader is not None
        data = {"name": name, "topic_id": self.kit.partition(leader, name).topic_id}
        body = {
            "transactional_id": None,
            "acks": -1,
            "timeout": 5_000,
            "topic_data": [{**data, "partition_data": [{"index": 0, "records": batch}]}],
        }
        answer = self.client.ask(leader.node_id, ApiKey.PRODUCE, body)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE, answer

    def leader(self) -> int:
        self.kit.wait(lambda: self.kit.leader_or_none(self.topics[0]) is not None)
        found = self.kit.leader_or_none(self.topics[0])
        assert found is not None
        return found.node_id

    def _name_of(self, topic_id: Any) -> str:
        for name in self.topics:
            if self._place(name)["topic_id"] == topic_id:
                return name
        return ""

    def _place(self, topic: str) -> dict[str, Any]:
        leader = self.kit.leader_or_none(topic)
        assert leader is not None
        topic_id = self.kit.partition(leader, topic).topic_id
        row = {"partition_index": 0, "acknowledgement_batches": []}
        return {"topic_id": topic_id, "partitions": [row]}


def _acquired(row: Any, topic: str) -> list[Got]:
    data = bytes(row.records or b"")
    values = {
        one.offset: one.value
        for at, header in batches(data)
        for one in records(data[at : at + header.size])
    }
    return [
        Got(offset, values.get(offset), one.delivery_count, topic)
        for one in row.acquired_records
        for offset in range(one.first_offset, one.last_offset + 1)
    ]
