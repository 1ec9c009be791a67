"""The cluster as clients of this node are told about it: brokers, controllers, replicas."""

from collections.abc import Callable, Collection, Container
from typing import Any, NamedTuple

from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.registrations import BrokerRegistration
from kafkapy.kraft.image.topics import PartitionState
from kafkapy.kraft.uuids import LOST

# Node id, host, port, rack.
NodeEndpoint = tuple[int, str, int, str | None]


class NodeAddress(NamedTuple):
    """A node as clients of one listener reach it; named as Metadata's fields."""

    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool


class ClusterView:
    """Reads the image; endpoints are those of the listener the client came in on."""

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        """`image`: the one in force; another takes its place when a snapshot is loaded."""
        self._current = image

    @property
    def _image(self) -> MetadataImage:
        return self._current()

    def brokers(
        self, listener: str, *, with_fenced: bool = False, and_fenced: Container[int] = ()
    ) -> list[NodeAddress]:
        """`and_fenced`: of the fenced ones these."""
        return [
            NodeAddress(broker.id, endpoint.host, endpoint.port, broker.rack, broker.fenced)
            for broker in self._image.brokers.values()
            if with_fenced or not broker.fenced or broker.id in and_fenced
            for endpoint in broker.endpoints
            if endpoint.name == listener
        ]

    def brokers_for_clients(
        self, listener: str, answering: int, and_fenced: Container[int] = ()
    ) -> list[NodeAddress]:
        """Never nobody: the node that answers is there. The last one to stop is fenced before it
        hangs up, and librdkafka, told of no brokers, drops all it knows and never asks again."""
        return self.brokers(listener, and_fenced=and_fenced) or self.brokers(
            listener, and_fenced=(answering,)
        )

    def endpoints_of(self, node_ids: Collection[int], listener: str) -> list[NodeEndpoint]:
        """Of those brokers that are alive: hints where to go instead (KIP-951)."""
        if not node_ids:
            return []
        wanted = set(node_ids)
        return [
            (one.node_id, one.host, one.port, one.rack)
            for one in self.brokers(listener)
            if one.node_id in wanted
        ]

    def racks(self, listener: str) -> dict[int, str | None]:
        """Of the brokers that are alive and reached there."""
        return {one.node_id: one.rack for one in self.brokers(listener)}

    def controllers(self, listener: str) -> list[NodeAddress]:
        return [
            NodeAddress(controller.id, endpoint.host, endpoint.port, None, False)
            for controller in self._image.controllers.values()
            for endpoint in controller.endpoints
            if endpoint.name == listener
        ]

    def is_reachable(self, node_id: int, listener: str) -> bool:
        """Whether a client on `listener` can be sent to this broker."""
        broker = self._image.brokers.get(node_id)
        return (
            broker is not None
            and not broker.fenced
            and any(endpoint.name == listener for endpoint in broker.endpoints)
        )

    def offline_replicas(self, state: PartitionState) -> list[int]:
        """Replicas on fenced or unknown brokers, or in a directory that failed."""
        brokers = self._image.brokers
        return [
            replica
            for replica, directory in zip(state.replicas, state.directories, strict=False)
            if _is_offline(brokers.get(replica), directory)
        ]


def _is_offline(broker: BrokerRegistration | None, directory: Any) -> bool:
    if broker is None or broker.fenced or directory == LOST:
        return True
    has_id = directory is not None and directory.int > 99
    return has_id and bool(broker.log_dirs) and directory not in broker.log_dirs
