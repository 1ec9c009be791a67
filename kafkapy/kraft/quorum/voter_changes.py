"""Changes of the voters, at the leader: one at a time, committed before the next (KIP-853).

    add      judged -> the new one asked for its versions -> appended -> committed -> answered
    remove   judged ------------------------------------> appended -> committed -> answered
    update   judged ------------------------------------> appended -> answered
    upgrade  of kraft.version from 0 to 1: the voters as each told of itself, appended

A set is in force when it is appended. Whoever waits is told REQUEST_TIMED_OUT when the change
takes too long: what is appended may still be committed, and holds up the next until it is. A
leader that is none of the voters any more leads until that is committed, then steps down.
formats/quorum 6.
"""

from collections.abc import Callable, Sequence
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode
from kafkapy.core.seams import Clock, Timer
from kafkapy.core.time import later
from kafkapy.kraft.quorum.leader import Leader
from kafkapy.kraft.quorum.messages import (
    AddVoterRequest,
    EpochResponse,
    QuorumStopped,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VoterChangeRequest,
    VoterResponse,
)
from kafkapy.kraft.quorum.quorum import Quorum
from kafkapy.kraft.quorum.voter_history import VoterHistory
from kafkapy.kraft.quorum.voters import SUPPORTED_KRAFT_VERSIONS, Voter, VoterAddress, VoterSet
from kafkapy.kraft.records.control import ControlRecord, KRaftVersion

NONE: Final = ErrorCode.NONE
BUSY: Final = ErrorCode.REQUEST_TIMED_OUT

Answered = Callable[[VoterResponse | EpochResponse], None]
# Asks the node at an address which kraft.versions it supports; None if it does not answer.
Probe = Callable[[VoterAddress, Callable[[tuple[int, int] | None], None]], None]


class _Change:
    """`end_offset` is behind the new set once that is appended."""

    def __init__(self, then: Answered) -> None:
        self.then: Answered | None = then
        self.end_offset: int | None = None
        self.timer: Timer | None = None

    def answer(self, error: ErrorCode, message: str | None = None) -> None:
        then, self.then = self.then, None
        if then is not None:
            then(VoterResponse(error, message))


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterChangeSettings:
    listener: str
    request_timeout_ms: int


class VoterChanges:
    """`append` writes control records as one batch and says where it ends; `carry_out` does
    what the machine wants done."""

    def __init__(
        self,
        quorum: Quorum,
        own: Voter,
        clock: Clock,
        settings: VoterChangeSettings,
        *,
        history: Callable[[], VoterHistory],
        append: Callable[[Sequence[ControlRecord]], int],
        carry_out: Callable[[], None],
        probe: Probe | None,
        is_on: Callable[[], bool],
    ) -> None:
        self._quorum = quorum
        self._own = own
        self._clock = clock
        self._settings = settings
        self._history = history
        self._append = append
        self._carry_out = carry_out
        self._probe = probe
        self._is_on = is_on
        self._change: _Change | None = None
        # With kraft.version 0: the voters as they told of themselves to this leader.
        self._told: dict[int, Voter] = {}

    def ask(self, request: VoterChangeRequest, then: Answered) -> None:
        """QuorumStopped, as whatever else is asked of a replica that has ended."""
        if not self._is_on():
            raise QuorumStopped
        match request:
            case AddVoterRequest():
                self._add(request, then)
            case RemoveVoterRequest():
                self._remove(request, then)
            case UpdateVoterRequest():
                then(self._update(request))

    def advanced(self) -> None:
        """The high watermark moved."""
        leader = self._quorum.role
        if not isinstance(leader, Leader) or leader.high_watermark is None:
            return
        change = self._change
        end_offset = None if change is None else change.end_offset
        if change is not None and end_offset is not None and end_offset <= leader.high_watermark:
            self._end(change, NONE)
        is_settled = self._history().voters_offset < leader.high_watermark
        if is_settled and not self._quorum.voters.has(self._own.key):
            self._quorum.step_down(self._clock.now())
            self._carry_out()

    def stopped_leading(self) -> None:
        self._told.clear()
        if self._change is not None:
            self._end(self._change, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    # -- adding and removing -----------------------------------------------------------

    def _add(self, request: AddVoterRequest, then: Answered) -> None:
        refused = self._judge(request.cluster_id)
        address = _address(request.endpoints, self._settings.listener)
        if refused is None and (request.voter.directory_id is None or request.voter.id < 0):
            refused = VoterResponse(ErrorCode.INVALID_REQUEST, "The new voter has no key.")
        elif refused is None and address is None:
            refused = VoterResponse(
                ErrorCode.INVALID_REQUEST,
                f"The new voter has no endpoint of the listener {self._settings.listener}.",
            )
        refused = refused or self._judge_change()
        if refused is None and request.voter.id in self._quorum.voters:
            refused = VoterResponse(
                ErrorCode.DUPLICATE_VOTER,
                f"The voter id for {_name(request.voter.id, request.voter.directory_id)} is "
                f"already part of the set of voters {self._quorum.voters.ids}.",
            )
        if refused is not None:
            then(refused)
            return
        assert address is not None, request
        change = self._begin(then)
        if self._probe is None:
            self._end(change, BUSY, "The new voter cannot be asked for its versions.")
            return
        self._probe(address, lambda found: self._probed(change, request, found))

    def _probed(
        self, change: _Change, request: AddVoterRequest, versions: tuple[int, int] | None
    ) -> None:
        """The new voter has said what it supports, or nothing."""
        leader = self._quorum.role
        if change is not self._change or not isinstance(leader, Leader):
            return
        finalized = self._history().kraft_version
        who = _name(request.voter.id, request.voter.directory_id)
        if versions is None:
            self._end(change, BUSY, f"The new voter {who} does not answer.")
        elif not versions[0] <= finalized <= versions[1]:
            self._end(
                change,
                ErrorCode.INVALID_REQUEST,
                f"The new voter {who} supports kraft.version {versions[0]} to {versions[1]}, "
                f"not {finalized}.",
            )
        elif not leader.is_caught_up(request.voter, self._clock.now()):
            self._end(change, BUSY, f"The new voter {who} has not caught up with the leader.")
        else:
            added = Voter(request.voter, request.endpoints, versions)
            self._write(change, self._quorum.voters.with_voter(added))
            if not request.waits_for_commit:
                change.answer(NONE)

    def _remove(self, request: RemoveVoterRequest, then: Answered) -> None:
        refused = self._judge(request.cluster_id)
        if refused is None and (request.voter.directory_id is None or request.voter.id < 0):
            refused = VoterResponse(ErrorCode.INVALID_REQUEST, "The voter has no key.")
        refused = refused or self._judge_change()
        voters, voter = self._quorum.voters, request.voter
        standing = voters.get(voter.id)
        is_there = standing is not None and standing.key == voter
        if refused is None and (not is_there or len(voters) == 1):
            refused = VoterResponse(
                ErrorCode.VOTER_NOT_FOUND,
                f"Cannot remove voter {_name(voter.id, voter.directory_id)} from the set of "
                f"voters {voters.ids}.",
            )
        if refused is not None:
            then(refused)
        else:
            self._write(self._begin(then), voters.without(voter.id))

    # -- updating ----------------------------------------------------------------------

    def _update(self, request: UpdateVoterRequest) -> EpochResponse:
        return self._told_epoch(self._judge_update(request))

    def _judge_update(self, request: UpdateVoterRequest) -> ErrorCode:
        error = self._quorum.judge_as_leader(request.cluster_id, request.epoch)
        if error is not NONE:
            return error
        lowest, highest = request.kraft_versions
        if _address(request.endpoints, self._settings.listener) is None:
            return ErrorCode.INVALID_REQUEST
        if (refused := self._judge_state()) is not None:
            return refused.error
        version = self._history().kraft_version
        if not lowest <= version <= highest:
            return ErrorCode.INVALID_REQUEST
        if not self._quorum.voters.has(request.voter):
            return ErrorCode.VOTER_NOT_FOUND
        voter = Voter(request.voter, request.endpoints, request.kraft_versions)
        if version == 0:
            self._told[voter.key.id] = voter
        elif self._quorum.voters.get(voter.key.id) != voter:
            # It is answered now; the change goes on until it is committed.
            self._write(self._begin(lambda _: None), self._quorum.voters.with_voter(voter))
        return NONE

    def _told_epoch(self, error: ErrorCode) -> EpochResponse:
        quorum = self._quorum
        return EpochResponse(error, quorum.epoch, quorum.leader_id, quorum.leader_endpoints)

    # -- upgrading ---------------------------------------------------------------------

    def cannot_upgrade(self) -> str | None:
        """Why kraft.version 1 may not be finalized now; None if it may."""
        if (refused := self._judge_state()) is not None:
            return refused.message
        known = self._as_told()
        if missing := [one for one in self._quorum.voters.ids if one not in known]:
            return f"Voters {missing} have not told the leader their directories yet."
        return None

    def upgrade(self) -> None:
        """After `cannot_upgrade` had nothing against it: the records that say so."""
        voters = VoterSet(self._as_told().values())
        self._append([KRaftVersion(k_raft_version=1), voters.to_record()])

    def _as_told(self) -> dict[int, Voter]:
        """Those that support what is to come, by id."""
        told = self._told | {self._own.key.id: self._own}
        return {
            one: voter
            for one, voter in told.items()
            if one in self._quorum.voters
            and voter.key.directory_id is not None
            and voter.kraft_versions[1] >= SUPPORTED_KRAFT_VERSIONS[1]
        }

    # -- one at a time -----------------------------------------------------------------

    def _judge(self, cluster_id: str | None) -> VoterResponse | None:
        error = self._quorum.judge_as_leader(cluster_id)
        return None if error is NONE else VoterResponse(error)

    def _judge_state(self) -> VoterResponse | None:
        """Nothing else is changing, and this leader knows what is committed."""
        leader = self._quorum.role
        if self._change is not None:
            return VoterResponse(BUSY, "Another change of the voters is under way.")
        if not isinstance(leader, Leader) or leader.high_watermark is None:
            return VoterResponse(BUSY, "The leader does not know yet what is committed.")
        if self._history().voters_offset >= leader.high_watermark:
            return VoterResponse(BUSY, "The last change of the voters is not committed yet.")
        return None

    def _judge_change(self) -> VoterResponse | None:
        if (refused := self._judge_state()) is not None:
            return refused
        if self._history().kraft_version == 0:
            return VoterResponse(
                ErrorCode.UNSUPPORTED_VERSION,
                "Cluster doesn't support adding or removing voters: kraft.version is 0.",
            )
        return None

    def _begin(self, then: Answered) -> _Change:
        change = self._change = _Change(then)
        deadline = later(self._clock.now(), self._settings.request_timeout_ms)
        change.timer = self._clock.call_at(deadline, lambda: self._end(change, BUSY))
        return change

    def _write(self, change: _Change, voters: VoterSet) -> None:
        change.end_offset = self._append([voters.to_record()])
        self.advanced()

    def _end(self, change: _Change, error: ErrorCode, message: str | None = None) -> None:
        if change is self._change:
            self._change = None
        if change.timer is not None:
            change.timer.cancel()
        change.answer(error, message)


def _address(endpoints: Sequence[VoterAddress], listener: str) -> VoterAddress | None:
    return next((one for one in endpoints if one.listener == listener), None)


def _name(node_id: int, directory_id: object) -> str:
    return f"{node_id} of directory {directory_id}"
