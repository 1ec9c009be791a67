"""Who may vote: replica keys, voters and the set of them.

A replica is an id and the directory that holds its log: a node that lost its disk comes
back as another replica (KIP-853). Directories are compared only where both sides know
theirs; configurations (`controller.quorum.voters`) do not. formats/quorum 6.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from uuid import UUID

from kafkapy.core.errors import Corrupt
from kafkapy.kraft.records.control import (
    KRaftVersionRange,
    KRaftVoters,
    VoterEndpoint,
    VoterEntry,
)

SUPPORTED_KRAFT_VERSIONS: Final = (0, 1)


class ReplicaKey(NamedTuple):
    id: int
    directory_id: UUID | None = None

    def matches(self, other: "ReplicaKey") -> bool:
        """Whether both may be the same replica, as far as they are known."""
        if self.id != other.id:
            return False
        known = self.directory_id is not None and other.directory_id is not None
        return not known or self.directory_id == other.directory_id

    def is_met_by(self, other: "ReplicaKey") -> bool:
        """Whether `other` is this replica for sure: what is known of it, the other has."""
        return self.id == other.id and self.directory_id in (None, other.directory_id)


class VoterAddress(NamedTuple):
    listener: str
    host: str
    port: int


class Voter(NamedTuple):
    key: ReplicaKey
    endpoints: tuple[VoterAddress, ...]
    kraft_versions: tuple[int, int] = SUPPORTED_KRAFT_VERSIONS

    def address(self, listener: str) -> VoterAddress | None:
        for endpoint in self.endpoints:
            if endpoint.listener == listener:
                return endpoint
        return None


class VoterSet:
    """The voters by id. Never changed: `with_voter` and `without` make another set."""

    __slots__ = ("_voters",)

    def __init__(self, voters: Iterable[Voter] = ()) -> None:
        self._voters = {voter.key.id: voter for voter in voters}

    def __iter__(self) -> Iterator[Voter]:
        return iter(self._voters.values())

    def __len__(self) -> int:
        return len(self._voters)

    def __contains__(self, node_id: int) -> bool:
        return node_id in self._voters

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self._voters == other._voters

    def __hash__(self) -> int:
        return hash(frozenset(self._voters.values()))

    def __repr__(self) -> str:
        return f"VoterSet({sorted(self._voters)})"

    @property
    def ids(self) -> list[int]:
        return sorted(self._voters)

    @property
    def majority(self) -> int:
        return len(self._voters) // 2 + 1

    def get(self, node_id: int) -> Voter | None:
        return self._voters.get(node_id)

    def has(self, replica: ReplicaKey) -> bool:
        voter = self._voters.get(replica.id)
        return voter is not None and voter.key.matches(replica)

    def is_only(self, replica: ReplicaKey) -> bool:
        return len(self._voters) == 1 and self.has(replica)

    def with_voter(self, voter: Voter) -> "VoterSet":
        return VoterSet((self._voters | {voter.key.id: voter}).values())

    def without(self, node_id: int) -> "VoterSet":
        return VoterSet(voter for voter in self if voter.key.id != node_id)

    def to_record(self) -> KRaftVoters:
        return KRaftVoters(
            voters=tuple(
                VoterEntry(
                    voter_id=voter.key.id,
                    voter_directory_id=voter.key.directory_id,
                    endpoints=tuple(
                        VoterEndpoint(name=name, host=host, port=port)
                        for name, host, port in voter.endpoints
                    ),
                    k_raft_version_feature=KRaftVersionRange(
                        min_supported_version=voter.kraft_versions[0],
                        max_supported_version=voter.kraft_versions[1],
                    ),
                )
                for voter in self
            )
        )


def voters_from(record: KRaftVoters) -> VoterSet:
    return VoterSet(
        Voter(
            ReplicaKey(entry.voter_id, entry.voter_directory_id),
            tuple(VoterAddress(point.name, point.host, point.port) for point in entry.endpoints),
            (
                entry.k_raft_version_feature.min_supported_version,
                entry.k_raft_version_feature.max_supported_version,
            ),
        )
        for entry in record.voters
    )


def parse_voters(text: str, listener: str) -> VoterSet:
    """`controller.quorum.voters`: `id@host:port` separated by commas."""
    voters = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        node_id, _, address = part.partition("@")
        host, _, port = address.rpartition(":")
        if not (node_id.isdecimal() and host and port.isdecimal() and int(port) < 1 << 16):
            raise Corrupt(f"{part!r} is not a voter of the form id@host:port")
        endpoint = VoterAddress(listener, host.strip("[]"), int(port))
        voters.append(Voter(ReplicaKey(int(node_id)), (endpoint,), (0, 0)))
    if len({voter.key.id for voter in voters}) != len(voters):
        raise Corrupt(f"{text!r} names a voter twice")
    return VoterSet(voters)
