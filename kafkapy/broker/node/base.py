"""What every node has, whatever its roles: who it is, what it reaches the world through, and
its place in the metadata quorum, as a voter or as one that only listens.

    NodeBase --> Role: BrokerRole, ControllerRole --> handlers
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.hooks.of_node import NodeHooks
from kafkapy.broker.metadata.cluster_view import ClusterView
from kafkapy.broker.node.endpoints import Endpoints
from kafkapy.broker.node.identity import CannotStart, Identity, identify
from kafkapy.broker.node.settings import bootstrap_addresses, peer_settings, quorum_settings
from kafkapy.broker.peers.login import Logins
from kafkapy.broker.quotas.client_quotas import ClientQuotas
from kafkapy.broker.quotas.door import Door
from kafkapy.broker.quotas.limits import Limits
from kafkapy.broker.raft.transport import RaftTransport
from kafkapy.broker.raft.watch import QuorumWatch
from kafkapy.broker.requests.apis import Api, apis_on
from kafkapy.broker.security.authorizer.configured import configured_authorizer
from kafkapy.broker.security.fetching import Fetch, no_fetch
from kafkapy.core.addresses import Address
from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import NO_NODE
from kafkapy.core.network import Network
from kafkapy.core.seams import Callback, Clock, Disk, Journal, Rng
from kafkapy.hooks.source import NO_HOOKS, HookSource
from kafkapy.kraft.image.delta import Delta
from kafkapy.kraft.image.image import BROKER_RESOURCE, MetadataImage
from kafkapy.kraft.metadata_quorum import MetadataQuorum
from kafkapy.kraft.quorum.voters import VoterAddress

if TYPE_CHECKING:
    from kafkapy.broker.telemetry.telemetry import Telemetry

# What a node ends of.
Fatal = DiskFailed | CannotStart


class NodeBase:
    """`image` is the metadata as far as it is committed and known here; the settings that it
    has for this node are in force before anybody else hears of a change."""

    def __init__(
        self,
        *,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        journal: Journal,
        bound_ports: Mapping[str, int],
        network: Network,
        host: str,
        fetch: Fetch = no_fetch,
        hooks: HookSource = NO_HOOKS,
    ) -> None:
        self.config = config
        # Where Python is found that is asked about records.
        self.hooks = NodeHooks(config, hooks, journal)
        # What stands at a URL outside of the cluster.
        self.fetch = fetch
        self.disk = disk
        self.clock = clock
        self.rng = rng
        self.journal = journal
        self.node_id: int = config.node_id
        self.endpoints = Endpoints(config, bound_ports, host)
        self.identity: Identity = identify(
            disk, rng, clock.wall(), journal, config, self._controller_address()
        )
        self.cluster_id = self.identity.cluster_id
        # Of this life of the process, in both of its roles.
        self.incarnation_id = rng.uuid()
        self.network = network
        self.logins = Logins(config, fetch, disk, clock, rng, journal)
        transport = self._transport()
        self.quorum = MetadataQuorum(
            disk,
            clock,
            rng,
            config.metadata_directory,
            quorum_settings(config, self.identity, self.endpoints),
            transport=transport,
            probe=transport.probe,
            journal=journal,
        )
        self.quorum_watch = QuorumWatch(
            self.quorum, clock, journal, self.controller_address, self.end
        )
        self.quorum.on_failed = self._metadata_disk_failed
        # None: nobody looks at what clients would push of their metrics (KIP-714).
        self.telemetry: Telemetry | None = None
        # None: nobody is asked for anything.
        self.authorizer = configured_authorizer(config, journal, self.hooks, clock)
        # None: nobody is told of connections.
        self.on_connection = self.hooks.of_connections()
        # None: there are none, and nobody pays for asking.
        self.quotas: ClientQuotas | None = None
        self.address_limits = Limits({})
        self.client_quotas = ClientQuotas(config, self.address_limits, clock)
        self.door = Door(config, clock, lambda: self.address_limits)
        self.quorum.subscribe(self._on_delta)
        # Once the image has what was committed when the quorum was first heard of; a lone node
        # leads by then.
        self.on_loaded: list[Callback] = []
        self.cluster = ClusterView(lambda: self.image)
        # What ends the process when it must not go on; the shell says how. On the loop, not
        # out of a request, where it would be taken for a bug of that request.
        self.on_fatal: Callable[[Fatal], None] = _stop_here

    @property
    def image(self) -> MetadataImage:
        """The cluster's metadata, as far as it is committed and known here."""
        return self.quorum.image

    def end(self, failed: Fatal) -> None:
        """This node must not go on. What refused to write has an answer to send first."""
        self.clock.call_soon(lambda: self.on_fatal(failed))

    def _on_delta(self, image: MetadataImage, delta: Delta) -> None:
        if self.authorizer is not None:
            self.authorizer.follow(image, delta)
        if delta.quotas:
            self.address_limits = Limits(image.quotas)
            self.client_quotas.follow(self.address_limits)
            has_any = self.address_limits.has_any_of_clients
            self.quotas = self.client_quotas if has_any else None
        names = ("", str(self.node_id))
        if any(kind == BROKER_RESOURCE and name in names for kind, name in delta.configs):
            self.config.alter(
                cluster=image.configs(BROKER_RESOURCE, ""),
                broker=image.configs(BROKER_RESOURCE, str(self.node_id)),
            )

    def controller_address(self, node_id: int) -> Address | None:
        """Where a voter or the leader of the quorum is reached, as far as is known."""
        found = self.quorum.address_of(node_id, self.config.listening.controller_names[0])
        return None if found is None else Address(found.host, found.port)

    def _voter_addresses(self) -> list[Address]:
        """Of the voters that the log names, as far as it does."""
        listener = self.config.listening.controller_names[0]
        found = (voter.address(listener) for voter in self.quorum.voters)
        return [Address(one.host, one.port) for one in found if one is not None]

    def _transport(self) -> RaftTransport:
        """How the quorum reaches other controllers."""
        return RaftTransport(
            self.network,
            self.clock,
            self.rng,
            listener=self.config.listening.controller_names[0],
            bootstrap=bootstrap_addresses(self.config),
            voters=self._voter_addresses,
            own=[Address(one.host, one.port) for one in self.endpoints.controller],
            address_of=self.controller_address,
            settings=peer_settings(self.config, "raft-client", self.logins),
            request_timeout_ms=self.config.controller_quorum_request_timeout_ms,
            note=lambda address, failure: self.quorum_watch.note(address, failure),
        )

    def _metadata_disk_failed(self, failed: DiskFailed) -> None:
        """Without its metadata log a node knows nothing."""
        self.journal.error("metadata log failed", reason=failed)
        self.end(failed)

    def _controller_address(self) -> VoterAddress | None:
        own = self.endpoints.controller
        return VoterAddress(own[0].name, own[0].host, own[0].port) if own else None


class Role:
    """One of the things that a node is. Handlers are given the role they are served by."""

    def __init__(self, base: NodeBase) -> None:
        self.config = base.config
        self.clock = base.clock
        self.rng = base.rng
        self.journal = base.journal
        self.node_id = base.node_id
        self.cluster_id = base.cluster_id
        self.endpoints = base.endpoints
        self.quorum = base.quorum
        self.authorizer = base.authorizer
        self._base = base
        self.cluster = base.cluster

    @property
    def image(self) -> MetadataImage:
        return self.quorum.image

    @property
    def quotas(self) -> ClientQuotas | None:
        return self._base.quotas

    @property
    def telemetry(self) -> "Telemetry | None":
        return self._base.telemetry

    def apis_on(self, *, is_controller: bool) -> tuple[Api, ...]:
        """What ApiVersions tells."""
        return apis_on(is_controller=is_controller, has_telemetry=self.telemetry is not None)

    @property
    def controller_id(self) -> int:
        leader_id = self.quorum.leader_id
        return NO_NODE if leader_id is None else leader_id


class StartsAndStops(Protocol):
    """A role, as the node runs it. Each `then` is called once."""

    def start(self, then: Callback) -> None:
        """Before the quorum is started. `then` once this role does its work."""

    def stop(self, then: Callback) -> None:
        """At any time, also before it has started. `then` once nothing of it is left."""


def _stop_here(failed: Fatal) -> None:
    raise failed
