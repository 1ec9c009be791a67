"""What the quorum machine wants said to other controllers, said over connections.

    Send(to, request) --> address of `to`, or the next bootstrap server --> PeerConnection
                      --> answer, translated --> the machine

A fetch waits at the leader until there is something to fetch; it has a connection of its own,
so that votes and news of epochs are not queued behind it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from kafkapy import __version__
from kafkapy.broker.peers.connection import PeerSettings
from kafkapy.broker.peers.connections import Connections
from kafkapy.broker.peers.failures import CallFailed, Why
from kafkapy.broker.raft import epochs, fetch, fetch_snapshot, vote, voters
from kafkapy.core.addresses import Address
from kafkapy.core.errors import Corrupt, Refused
from kafkapy.core.network import Network
from kafkapy.core.seams import Clock, Rng
from kafkapy.kraft.features import KRAFT_VERSION
from kafkapy.kraft.quorum.messages import (
    AddVoterRequest,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    HungUp,
    NobodyThere,
    RemoveVoterRequest,
    Request,
    Response,
    UpdateVoterRequest,
    VoteRequest,
)
from kafkapy.kraft.quorum.voters import VoterAddress
from kafkapy.protocol.api_keys import ApiKey

Answered = Callable[[Response | Exception], None]


class _Rpc(NamedTuple):
    api: ApiKey
    versions: tuple[int, int]
    fields: Callable[[Any], Any]
    response_from: Callable[[Any, str], Response]


_RPCS: Final[dict[type, _Rpc]] = {
    VoteRequest: _Rpc(ApiKey.VOTE, (0, 2), vote.request_fields, vote.response_from),
    BeginQuorumEpochRequest: _Rpc(
        ApiKey.BEGIN_QUORUM_EPOCH, (0, 1), epochs.begin_fields, epochs.response_from
    ),
    EndQuorumEpochRequest: _Rpc(
        ApiKey.END_QUORUM_EPOCH, (0, 1), epochs.end_fields, epochs.response_from
    ),
    FetchRequest: _Rpc(
        ApiKey.FETCH, (fetch.FIRST_VERSION, 18), fetch.request_fields, fetch.response_from
    ),
    FetchSnapshotRequest: _Rpc(
        ApiKey.FETCH_SNAPSHOT, (0, 1), fetch_snapshot.request_fields, fetch_snapshot.response_from
    ),
    # Not v0: who joins cannot fetch while it waits for the commit.
    AddVoterRequest: _Rpc(ApiKey.ADD_RAFT_VOTER, (1, 1), voters.add_fields, voters.changed_from),
    RemoveVoterRequest: _Rpc(
        ApiKey.REMOVE_RAFT_VOTER, (0, 0), voters.remove_fields, voters.changed_from
    ),
    UpdateVoterRequest: _Rpc(
        ApiKey.UPDATE_RAFT_VOTER, (0, 0), voters.update_fields, voters.updated_from
    ),
}

# What the quorum makes something of.
_FAILURES: Final[dict[Why, Callable[[str], Exception]]] = {
    Why.REFUSED: NobodyThere,
    Why.BROKEN: HungUp,
}


class RaftTransport:
    """`address_of` tells where a voter or the leader is; `bootstrap` whom to ask before that
    is known, and `voters` too (bootstrap servers may be gone when others vote by now), `own` not
    being one of them. `note` is told how each call ended."""

    def __init__(
        self,
        network: Network,
        clock: Clock,
        rng: Rng,
        *,
        listener: str,
        bootstrap: Sequence[Address],
        voters: Callable[[], Iterable[Address]],
        own: Sequence[Address],
        address_of: Callable[[int], Address | None],
        settings: PeerSettings,
        request_timeout_ms: int,
        note: Callable[[Address, Exception | None], None],
    ) -> None:
        self._clock = clock
        self._listener = listener
        self._bootstrap = tuple(bootstrap)
        self._voters = voters
        self._own = frozenset(own)
        self._address_of = address_of
        self._request_timeout_ms = request_timeout_ms
        self._note = note
        # A fetch waits, and who waits delays those behind: by address, and whether it waits.
        self._connections: Connections[tuple[Address, bool]] = Connections(
            network, clock, rng, listener=listener, settings=settings
        )
        self._next = 0

    def __call__(self, to: int | None, request: Request, then: Answered) -> None:
        address = self._bootstrap_server() if to is None else self._address_of(to)
        if address is None:
            failure = CallFailed(Why.UNREACHABLE, f"nobody knows where node {to} is")
            self._clock.call_soon(lambda: then(failure))
            return
        rpc = _RPCS[type(request)]

        def answered(answer: Any) -> None:
            read = self._read(rpc, answer)
            failure = answer if isinstance(answer, CallFailed) else read
            self._note(address, failure if isinstance(failure, Exception) else None)
            then(read)

        connection = self._connections.to((address, isinstance(request, FetchRequest)), address)
        assert connection is not None, address
        connection.call(
            rpc.api,
            rpc.fields(request),
            answered,
            versions=rpc.versions,
            timeout_ms=self._request_timeout_ms,
        )

    def _read(self, rpc: _Rpc, answer: Any) -> Response | Exception:
        if isinstance(answer, CallFailed):
            known = _FAILURES.get(answer.why)
            return answer if known is None else known(str(answer))
        try:
            return rpc.response_from(answer, self._listener)
        except (Refused, Corrupt) as failure:
            return failure

    def probe(self, address: VoterAddress, then: Callable[[tuple[int, int] | None], None]) -> None:
        """Which kraft.versions the node at `address` supports; None if it does not answer."""
        connection = self._connections.another(Address(address.host, address.port))

        def answered(answer: Any) -> None:
            connection.close()
            is_told = not isinstance(answer, CallFailed) and not answer.error_code
            then(_kraft_versions(answer) if is_told else None)

        connection.call(
            ApiKey.API_VERSIONS,
            {"client_software_name": "kafkapy", "client_software_version": __version__},
            answered,
            versions=(3, 4),
            timeout_ms=self._request_timeout_ms,
        )

    def close(self) -> None:
        self._connections.close()

    def _bootstrap_server(self) -> Address | None:
        """One after the other: the first may be gone for ever."""
        asked = dict.fromkeys((*self._bootstrap, *self._voters()))
        others = [one for one in asked if one not in self._own]
        if not others:
            return None
        self._next += 1
        return others[self._next % len(others)]


def _kraft_versions(answer: Any) -> tuple[int, int]:
    for row in answer.supported_features:
        if row.name == KRAFT_VERSION:
            return row.min_version, row.max_version
    return 0, 0
