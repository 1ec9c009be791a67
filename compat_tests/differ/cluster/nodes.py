"""Three nodes of one server under comparison: each can be asked as a broker and as a controller.

All that any of them says is heard in one order. Node ids are the same in both clusters and topics
are placed by hand; who leads the quorum is each one's own, and replaced by words.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from compat_tests.clusters import Cluster
from compat_tests.differ.side import Side, newest
from compat_tests.waiting import wait_for
from kafkapy.kraft.records.codec import decode_record
from kafkapy.kraft.records.metadata import RegisterBrokerRecord
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import read_header, records

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_ID: Final = UUID(int=1)
NODES: Final = (1, 2, 3)
# A topic on nodes 1 and 2: who leads it, who follows, and who has nothing of it.
PLACES: Final = {"leader": 1, "follower": 2, "stranger": 3}

# Of controllers alone: brokers do not advertise them (advertised.py).
_CONTROLLERS_NEWEST: Final = {
    ApiKey.VOTE: 2,
    ApiKey.BEGIN_QUORUM_EPOCH: 1,
    ApiKey.END_QUORUM_EPOCH: 1,
    ApiKey.ALTER_PARTITION: 3,
    ApiKey.ENVELOPE: 0,
    ApiKey.FETCH_SNAPSHOT: 1,
    ApiKey.BROKER_REGISTRATION: 4,
    ApiKey.BROKER_HEARTBEAT: 2,
    ApiKey.ALLOCATE_PRODUCER_IDS: 0,
    ApiKey.CONTROLLER_REGISTRATION: 0,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: 0,
    ApiKey.UPDATE_RAFT_VOTER: 0,
}
# Of their answers the fields that say who leads are about the quorum, not about partitions.
_ABOUT_THE_QUORUM: Final = {
    ApiKey.VOTE,
    ApiKey.BEGIN_QUORUM_EPOCH,
    ApiKey.END_QUORUM_EPOCH,
    ApiKey.FETCH,
    ApiKey.FETCH_SNAPSHOT,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.UPDATE_RAFT_VOTER,
}
_WHO_LEADS: Final = {"leader_id", "node_id"}


class Nodes:
    """For one case at one version of the API it is about."""

    def __init__(self, cluster: Cluster, api_key: ApiKey, version: int, name: str) -> None:
        self.cluster = cluster
        self.version = version
        self.name = name
        self._about = api_key
        self._first = Side(cluster.address(1), api_key, version, name)
        self._sides = {cluster.address(1): self._first}
        self._topics = 0

    @property
    def heard(self) -> list[tuple[str, Any]]:
        heard = [(label, self._first.plain(answer)) for label, answer in self._first.heard]
        for _, answer in heard:
            if isinstance(answer, dict) and answer.get("controller_id") in NODES:
                answer["controller_id"] = "<some broker>"  # drawn anew for each answer
        return heard

    def close(self) -> None:
        for side in self._sides.values():
            side.close()

    # -- who is asked

    def broker(self, node_id: int) -> Side:
        return self._side(self.cluster.address(node_id))

    def controller(self, node_id: int) -> Side:
        return self._side(self.cluster.controller_address(node_id))

    @property
    def active(self) -> Side:
        """The controller that leads."""
        return self.controller(self.leader_id)

    @property
    def inactive(self) -> Side:
        """One that does not."""
        return self.controller(next(one for one in NODES if one != self.leader_id))

    @property
    def leader_id(self) -> int:
        """Of the quorum."""
        leader: int = self.quorum().leader_id
        return leader

    def quorum(self) -> Any:
        """The metadata's partition as its leader describes it."""
        rows = [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]
        answer = self._first.call(ApiKey.DESCRIBE_QUORUM, {"topics": rows})
        found = answer.topics[0].partitions[0]
        if self._about in _ABOUT_THE_QUORUM:
            # Of a quorum that is described all nodes are told.
            fields = {"leader_id"} if self._about == ApiKey.DESCRIBE_QUORUM else _WHO_LEADS
            for field in fields:
                self._first.call_this("<the active controller>", found.leader_id, in_field=field)
            epoch = found.leader_epoch
            self._first.call_this("<the quorum's epoch>", epoch, in_field="leader_epoch")
        return found

    def ask_brokers(self, api_key: ApiKey, body: Mapping[str, Any]) -> list[Any]:
        return [self.broker(one).ask(api_key, body) for one in NODES]

    def ask_controllers(self, api_key: ApiKey, body: Mapping[str, Any]) -> None:
        """One that leads and one that does not."""
        version = self.version
        if api_key != self._about:
            version = _CONTROLLERS_NEWEST.get(api_key, -1)
            version = newest(api_key) if version < 0 else version
        for side in (self.active, self.inactive):
            side.ask(api_key, body, version)

    # -- what is there

    def topic(
        self,
        assignment: Mapping[int, Sequence[int]],
        configs: Mapping[str, str] | None = None,
    ) -> str:
        """A new topic whose replicas are where they should be, known to all and served."""
        self._topics += 1
        name = f"{self.name}-{self._topics}"
        rows = [{"partition_index": at, "broker_ids": to} for at, to in assignment.items()]
        row = {"name": name, "num_partitions": -1, "replication_factor": -1, "assignments": rows}
        row["configs"] = [{"name": key, "value": value} for key, value in (configs or {}).items()]
        answer = self._first.call(ApiKey.CREATE_TOPICS, {"topics": [row], "timeout": 10_000})
        assert answer.topics[0].error_code.value == 0, answer
        self.wait_for_leaders(name, {at: to[0] for at, to in assignment.items()})
        return name

    def topic_id(self, topic: str) -> UUID:
        return self._first.topic_id(topic)

    def wait_for_leaders(
        self, topic: str, leaders: Mapping[int, int], asked: Iterable[int] = NODES
    ) -> None:
        """All of them say so, and these serve."""

        def agree() -> bool:
            return all(self._leaders(one, topic) == leaders for one in asked) and all(
                self._serves(leader, topic, index) for index, leader in leaders.items()
            )

        wait_for(f"{leaders} lead {topic}", agree, every_s=0.01)

    def lead(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """The first of these leads; the others had to have been replicas."""
        row: dict[str, Any] = {"partition_index": partition, "replicas": replicas}
        body = {"topics": [{"name": topic, "partitions": [row]}], "timeout": 10_000}
        self._first.call(ApiKey.ALTER_PARTITION_REASSIGNMENTS, body)
        elect = {"election_type": 0, "timeout": 10_000}
        rows = [{"topic": topic, "partitions": [partition]}]
        self._first.call(ApiKey.ELECT_LEADERS, {**elect, "topic_partitions": rows})
        leaders = {**self._leaders(1, topic), partition: replicas[0]}
        self.wait_for_leaders(topic, leaders)

    def broker_epochs(self) -> dict[int, int]:
        """Of every broker's registration: its offset in the metadata."""
        found = {}
        for _, batch in sorted(self.cluster.metadata(1).items()):
            if not read_header(batch).is_control:
                for one in records(batch):
                    record = decode_record(one.value or b"")
                    if isinstance(record, RegisterBrokerRecord):
                        found[record.broker_id] = record.broker_epoch
        return found

    def _leaders(self, asked: int, topic: str) -> dict[int, int]:
        answer = self.broker(asked).call(ApiKey.METADATA, {"topics": [{"name": topic}]})
        (found,) = answer.topics
        if found.error_code.value:
            return {}
        self._first.call_this(f"<id of {topic}>", found.topic_id)
        return {one.partition_index: one.leader_id for one in found.partitions}

    def _serves(self, leader: int, topic: str, partition: int) -> bool:
        row = {"partition_index": partition, "timestamp": -1}
        body = {"replica_id": -1, "topics": [{"name": topic, "partitions": [row]}]}
        answer = self.broker(leader).call(ApiKey.LIST_OFFSETS, body)
        return bool(answer.topics[0].partitions[0].error_code.value == 0)

    def _side(self, address: str) -> Side:
        if address not in self._sides:
            self._sides[address] = Side(
                address, self._about, self.version, self.name, of=self._first
            )
        return self._sides[address]
