"""The tally of one election: who granted, who refused, who has not answered."""

from collections.abc import Iterable

from kafkapy.kraft.quorum.voters import VoterSet


class Votes:
    """An answer may change from nothing to granted or refused, and a refusal to granted
    (a pre-vote asked again); a granted vote stays granted."""

    __slots__ = ("_majority", "granted", "refused", "unanswered")

    def __init__(self, voters: VoterSet, own_id: int) -> None:
        assert own_id in voters, f"{own_id} votes, but is not of {voters}"
        self._majority = voters.majority
        self.granted = {own_id}
        self.refused: set[int] = set()
        self.unanswered = set(voters.ids) - {own_id}

    def grant(self, voter_id: int) -> None:
        if voter_id in self.unanswered or voter_id in self.refused:
            self.unanswered.discard(voter_id)
            self.refused.discard(voter_id)
            self.granted.add(voter_id)

    def refuse(self, voter_id: int) -> None:
        if voter_id in self.unanswered:
            self.unanswered.remove(voter_id)
            self.refused.add(voter_id)

    @property
    def is_won(self) -> bool:
        return len(self.granted) >= self._majority

    @property
    def is_lost(self) -> bool:
        return len(self.granted) + len(self.unanswered) < self._majority

    @property
    def asked(self) -> Iterable[int]:
        return sorted(self.unanswered)
