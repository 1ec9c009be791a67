"""`Cluster`: several real brokers in your test's process, to kill, pause and cut off.

    with kafkapy.testing.Cluster(nodes=3) as kafka:
        kafka.create_topic("orders", replication_factor=3)
        kafka.kill(kafka.leader("orders"))      # the application under test goes on, or does not

Each node is a `Broker` (and a controller) on a thread of its own, as a process would be: they
speak with one another and with clients over real sockets. What is said of `Broker` holds for
`cluster.node(2)`: its records, requests and faults, which are about clients' requests alone.
"""

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from kafkapy.broker.config.replicated import of_all_topics
from kafkapy.broker.node.node import Node
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.kraft.uuids import new_uuid, uuid_to_text
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.server.rng import SystemRng
from kafkapy.server.sockets.free_ports import free_ports
from kafkapy.testing.asking.ask import check
from kafkapy.testing.cluster.cluster_node import ClusterNode
from kafkapy.testing.cluster.links import Links
from kafkapy.testing.gate.faults import Faults

T = TypeVar("T")
Self = TypeVar("Self", bound="Cluster")

_HOST: Final = "127.0.0.1"
_LOOK_SECONDS: Final = 0.003
_MOST_VOTERS: Final = 3
_TIMEOUT_MS: Final = 30_000
_PREFERRED: Final = 0
# Nobody is far away, and who waits for a dead node waits in a test.
_QUICK: Final = {
    "controller.quorum.election.timeout.ms": "100",
    "controller.quorum.election.backoff.max.ms": "100",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.request.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "3000",
}


class Cluster:
    """`nodes` brokers, the first three of which are controllers too. Files are in memory, or
    in `directory`, which stays. `settings` are Kafka's, for all of them; `racks` of each.
    `faults` meet clients' requests to any node; those of a node, those to it."""

    def __init__(
        self,
        nodes: int = 3,
        settings: Mapping[str, str] | None = None,
        *,
        directory: str | os.PathLike[str] | None = None,
        racks: Mapping[int, str] | None = None,
    ) -> None:
        if nodes < 1:
            raise ValueError(f"a cluster of {nodes} nodes")
        self.faults = Faults()
        self._directory = None if directory is None else Path(directory)
        ports = free_ports(2 * nodes)
        ids = range(1, nodes + 1)
        self._ports = dict(zip(ids, ports[:nodes], strict=True))
        self._controller_ports = dict(zip(list(ids)[:_MOST_VOTERS], ports[nodes:], strict=False))
        self._links = Links(
            {port: one for one, port in (*self._ports.items(), *self._controller_ports.items())}
        )
        shared = {**_QUICK, **of_all_topics(nodes), **(settings or {})}
        self.nodes = {one: self._node(one, {**shared, **_rack(one, racks or {})}) for one in ids}
        cluster_id = uuid_to_text(new_uuid(SystemRng()))
        for node in self.nodes.values():
            node.format(cluster_id)

    def __enter__(self: Self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()  # those that have started
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if error is None:
            for faults in (self.faults, *(node.faults for node in self.nodes.values())):
                faults.check()

    # --- life and death ---

    def start(self, *node_ids: int) -> None:
        """All that do not run, or these; they serve when this returns."""
        wanted = [
            node for node in self.nodes.values()
            if not node.is_running and (not node_ids or node.node_id in node_ids)
        ]  # fmt: skip
        with ThreadPoolExecutor(max(1, len(wanted))) as pool:
            for _ in pool.map(lambda node: node.start(), wanted):
                pass

    def close(self) -> None:
        """End all of them. A directory is left as after a clean shutdown. BrokerDied if one of
        them has died of its own meanwhile."""
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            for _ in pool.map(lambda node: node.close(), self.nodes.values()):
                pass

    def kill(self, node_id: int) -> None:
        """As SIGKILL. `start(node_id)` brings it back with its data."""
        self.node(node_id).kill()

    def stop(self, node_id: int) -> None:
        """Cleanly: it hands its leaderships over first."""
        self.node(node_id).stop()

    def restart(self, node_id: int) -> None:
        """A clean stop if it runs, and a start; it is in sync again some time later."""
        if self.node(node_id).is_running:
            self.stop(node_id)
        self.start(node_id)

    def pause(self, node_id: int) -> None:
        """As SIGSTOP."""
        self.node(node_id).pause()

    def resume(self, node_id: int) -> None:
        self.node(node_id).resume()

    def cut(self, one: int, other: int) -> None:
        """Neither of the two hears the other any more; clients still reach both."""
        self.cut_one_way(one, other)
        self.cut_one_way(other, one)

    def cut_one_way(self, source: int, target: int) -> None:
        """Nothing from `source` reaches `target` any more; what `target` says still arrives."""
        self._links.cut(self.node(source).node_id, self.node(target).node_id)

    def isolate(self, node_id: int) -> None:
        """Cut it off from all others."""
        for other in self.nodes:
            if other != node_id:
                self.cut(node_id, other)

    def heal(self) -> None:
        """All cuts end; what was sent meanwhile arrives, if both ends still want it."""
        self._links.heal()
        for node in self.nodes.values():
            node.look()

    def move_leader(self, topic: str, partition: int = 0, *, to: int) -> None:
        """As whoever balances a cluster does: `to` is the partition's preferred leader from now
        on, and leads it when this returns. It must be one of its replicas, and in sync."""
        if to not in self.in_sync(topic, partition):
            raise ValueError(f"node {to} is not in sync: {self.in_sync(topic, partition)} are")
        state = self._image(lambda image: _partition(image, topic, partition))
        replicas = [to, *(one for one in state.replicas if one != to)]
        row = {"partition_index": partition, "replicas": replicas}
        moved = self._ask(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            0,
            {"topics": [{"name": topic, "partitions": [row]}], "timeout": _TIMEOUT_MS},
        )
        one = moved.responses[0].partitions[0]
        check(one.error_code, f"{topic}-{partition} to node {to}", one.error_message)
        elected = self._ask(
            ApiKey.ELECT_LEADERS,
            2,
            {
                "election_type": _PREFERRED,
                "topic_partitions": [{"topic": topic, "partitions": [partition]}],
                "timeout": _TIMEOUT_MS,
            },
        )
        for found in elected.replica_election_results:
            for one in found.partition_result:
                if one.error_code != ErrorCode.ELECTION_NOT_NEEDED:
                    check(one.error_code, f"{topic}-{partition} to node {to}", one.error_message)
        leads = f"node {to} leads {topic}-{partition}"
        self.wait_for(lambda: self._is_led_by(to, topic, partition), leads)

    # --- what it is ---

    @property
    def bootstrap(self) -> str:
        """What clients call bootstrap.servers: all nodes."""
        return ",".join(f"{_HOST}:{port}" for port in self._ports.values())

    def node(self, node_id: int) -> ClusterNode:
        if node_id not in self.nodes:
            there = ", ".join(map(str, self.nodes))
            raise ValueError(f"there is no node {node_id}; there are {there}")
        return self.nodes[node_id]

    @property
    def controller(self) -> int:
        """The active one; 0 while there is none."""
        leading = [
            (epoch, node.node_id)
            for node in self._answering()
            for is_active, epoch in [node.on_node(_leads)]
            if is_active
        ]
        return max(leading)[1] if leading else 0

    def leader(self, topic: str, partition: int = 0) -> int:
        """The node that leads it; -1 while none does."""
        return self._image(lambda image: _partition(image, topic, partition).leader)

    def in_sync(self, topic: str, partition: int = 0) -> set[int]:
        return self._image(lambda image: set(_partition(image, topic, partition).isr))

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        replication_factor: int = -1,
        config: Mapping[str, str] | None = None,
        assignment: Mapping[int, list[int]] | None = None,
    ) -> None:
        """Without a factor three replicas, as far as there are nodes; `assignment`: partition ->
        nodes, the first to lead. It is led when this returns."""
        asked = {
            "name": topic,
            "num_partitions": -1 if assignment else partitions,
            "replication_factor": -1 if assignment else replication_factor,
            "assignments": [
                {"partition_index": index, "broker_ids": ids}
                for index, ids in (assignment or {}).items()
            ],
            "configs": [{"name": name, "value": one} for name, one in (config or {}).items()],
        }
        row = self._ask(
            ApiKey.CREATE_TOPICS,
            7,
            {"topics": [asked], "timeout": _TIMEOUT_MS, "validate_only": False},
        ).topics[0]
        check(row.error_code, f"topic {topic}", row.error_message)
        self.wait_for(lambda: self._is_led_everywhere(topic), f"topic {topic} is led")

    def wait_until_whole(self, timeout: float = 30.0) -> None:
        """All nodes that run serve, and every replica on them is in sync."""
        self.wait_for(self._is_whole, "the cluster is whole", timeout)

    def wait_for(self, condition: Callable[[], bool], what: str, timeout: float = 30.0) -> None:
        """TimeoutError if it never becomes true."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not within {timeout:g} s")
            time.sleep(_LOOK_SECONDS)

    def _is_whole(self) -> bool:
        running = {node.node_id for node in self._answering()}
        return bool(self.controller) and self._image(partial(_is_whole, running))

    def _is_led_everywhere(self, topic: str) -> bool:
        """Whoever is asked knows it."""

        def is_led(node: Node) -> bool:
            found = node.image.topics_by_name.get(topic)
            return found is not None and all(one.leader >= 0 for one in found.partitions.values())

        return all(node.on_node(is_led) for node in self._answering())

    def _is_led_by(self, node_id: int, topic: str, partition: int) -> bool:
        """Whoever is asked says so."""

        def says_so(node: Node) -> bool:
            found = node.image.topics_by_name.get(topic)
            return found is not None and found.partitions[partition].leader == node_id

        return all(node.on_node(says_so) for node in self._answering())

    def _answering(self) -> list[ClusterNode]:
        return [one for one in self.nodes.values() if one.is_running and not one.is_paused]

    def _image(self, read: Callable[[MetadataImage], T]) -> T:
        """As the node sees it that knows most."""
        knows = max(self._somebody(), key=lambda node: node.on_node(lambda one: one.image.offset))
        return knows.on_node(lambda one: read(one.image))

    def _ask(self, api: ApiKey, version: int, body: Mapping[str, Any]) -> Any:
        return self._somebody()[0]._ask(api, version, body)

    def _somebody(self) -> list[ClusterNode]:
        found = self._answering()
        if not found:
            raise ValueError("no node answers: all are stopped or paused")
        return found

    # --- making it ---

    def _node(self, node_id: int, settings: Mapping[str, str]) -> ClusterNode:
        own = self._controller_ports.get(node_id)
        listeners = [f"PLAINTEXT://{_HOST}:{self._ports[node_id]}"]
        listeners += [f"CONTROLLER://{_HOST}:{own}"] if own else []
        voters = [f"{one}@{_HOST}:{port}" for one, port in self._controller_ports.items()]
        return ClusterNode(
            node_id,
            self._links,
            {
                "process.roles": "broker,controller" if own else "broker",
                "node.id": str(node_id),
                "listeners": ",".join(listeners),
                "controller.quorum.voters": ",".join(voters),
                **settings,
            },
            None if self._directory is None else self._directory / f"node-{node_id}",
            self._ports[node_id],
            self.faults,
        )


def _leads(node: Node) -> tuple[bool, int]:
    return node.quorum.is_active, node.quorum.leader_epoch


def _partition(image: MetadataImage, topic: str, partition: int) -> PartitionState:
    found = image.topics_by_name.get(topic)
    if found is None or partition not in found.partitions:
        what = f"topic {topic}" if found is None else f"partition {topic}-{partition}"
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no {what}")
    return found.partitions[partition]


def _is_whole(running: set[int], image: MetadataImage) -> bool:
    active = {broker.id for broker in image.brokers.values() if broker.is_active}
    partitions = [
        one for topic in image.topics_by_name.values() for one in topic.partitions.values()
    ]
    return running <= active and all(
        one.leader >= 0 and running & set(one.replicas) <= set(one.isr) for one in partitions
    )


def _rack(node_id: int, racks: Mapping[int, str]) -> dict[str, str]:
    return {"broker.rack": racks[node_id]} if node_id in racks else {}
