"""A world whose controllers are in no configuration: the log says who votes (KIP-853)."""

from collections.abc import Mapping, Sequence

from kafkapy.kraft.quorum.messages import (
    AddVoterRequest,
    EpochResponse,
    RemoveVoterRequest,
    VoterChangeRequest,
    VoterResponse,
)
from kafkapy.kraft.quorum.voters import ReplicaKey, Voter, VoterAddress, VoterSet
from kafkapy.kraft.storage.format import format_directories
from kafkapy.kraft.uuids import new_uuid
from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.world import COMBINED, CONTROLLER_PORT, ClusterWorld
from kafkapy.sim.world.rng import SimRng

LISTENER = "CONTROLLER"


def home(node_id: int) -> tuple[VoterAddress, ...]:
    return (VoterAddress(LISTENER, f"n{node_id}", CONTROLLER_PORT),)


class DynamicWorld(ClusterWorld):
    """The first `voters` of the nodes vote from the beginning; the others know where to ask."""

    def __init__(
        self,
        seed: int | str,
        voters: int = 3,
        roles: Sequence[str] = (COMBINED,) * 3,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        servers = ",".join(f"n{one}:{CONTROLLER_PORT}" for one in range(1, voters + 1))
        rng = SimRng(f"{seed}/voters")
        self._first = range(1, voters + 1)
        self._replaced: set[int] = set()
        self._first_voters = VoterSet(
            Voter(ReplicaKey(one, new_uuid(rng)), home(one)) for one in self._first
        )
        super().__init__(
            seed,
            roles,
            {
                "controller.quorum.voters": "",
                "controller.quorum.bootstrap.servers": servers,
                **(settings or {}),
            },
        )
        self.has_dynamic_voters = True

    def format(self, host: Host) -> None:
        paths = host.settings["log.dirs"].split(",")
        # Of a machine that was replaced nobody knows beforehand.
        is_first = host.node_id in self._first and host.node_id not in self._replaced
        format_directories(
            host.disk,
            self.rng.fork(f"{host.name}/format {host.boots} {host.node_id in self._replaced}"),
            self.clock.wall(),
            paths,
            cluster_id=self._cluster_id,
            node_id=host.node_id,
            metadata_path=paths[0],
            initial_voters=self._first_voters if is_first else None,
            ignore_formatted=host.boots > 0,
        )

    def replace_disk(self, node_id: int) -> Host:
        """A machine of the same name with nothing on its disks."""
        assert not self.hosts[node_id].is_alive, node_id
        self._replaced.add(node_id)
        host = self.hosts[node_id] = self._host(node_id)
        self.format(host)
        return host

    def key(self, host: Host) -> ReplicaKey:
        assert host.node is not None
        return host.node.quorum.settings.local

    def voters(self, host: Host) -> list[int]:
        assert host.node is not None
        return host.node.quorum.voters.ids

    def wait_for_voters(self, *ids: int) -> None:
        def all_know() -> bool:
            alive = [host for host in self.controllers if host.is_alive]
            return all(self.voters(host) == list(ids) for host in alive)

        self.run_until(all_know, 30_000)

    def add(self, host: Host) -> None:
        self.change(AddVoterRequest(None, self.key(host), home(host.node_id), 5000))

    def remove(self, key: ReplicaKey) -> None:
        self.change(RemoveVoterRequest(None, key))

    def change(self, request: VoterChangeRequest) -> None:
        """Until some leader has done it, as whoever operates the cluster would."""
        answers: list[VoterResponse | EpochResponse] = []
        is_asked = False

        def is_done() -> bool:
            nonlocal is_asked
            if answers and not answers[-1].error:
                return True
            if is_asked and not answers:
                return False
            answers.clear()
            leader = self.active_controller
            is_asked = leader is not None
            if leader is not None:
                assert leader.node is not None
                leader.node.quorum.voter_changes.ask(request, answers.append)
            return False

        self.run_until(is_done, 30_000)
