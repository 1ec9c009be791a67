"""Who voted from which offset on, and which kraft.version held.

A voter set counts as soon as it is in the log, committed or not, and no longer once it is
truncated away. So the sets are kept by offset: offset -1 stands for what was there before
the log (the configuration, or the snapshot written by `format`). formats/quorum 6.
"""

from typing import TypeVar

from kafkapy.kraft.quorum.voters import VoterSet, voters_from
from kafkapy.kraft.records.control import ControlRecord, KRaftVersion, KRaftVoters

BEFORE_THE_LOG = -1

T = TypeVar("T")


class VoterHistory:
    def __init__(self, configured: VoterSet) -> None:
        """`configured`: controller.quorum.voters, which holds until the log knows better."""
        self._voters: list[tuple[int, VoterSet]] = [(BEFORE_THE_LOG, configured)]
        self._kraft_versions: list[tuple[int, int]] = [(BEFORE_THE_LOG, 0)]

    @property
    def voters(self) -> VoterSet:
        return self._voters[-1][1]

    @property
    def voters_offset(self) -> int:
        return self._voters[-1][0]

    @property
    def kraft_version(self) -> int:
        return self._kraft_versions[-1][1]

    def note(self, offset: int, record: ControlRecord) -> None:
        """A control record at `offset`; the others than these two say nothing here."""
        match record:
            case KRaftVoters():
                self._voters.append((offset, voters_from(record)))
            case KRaftVersion():
                self._kraft_versions.append((offset, record.k_raft_version))

    def at(self, offset: int) -> tuple[int, VoterSet]:
        """kraft.version and voters before `offset`, for a snapshot that ends there."""
        version = next(value for at, value in reversed(self._kraft_versions) if at < offset)
        return version, next(value for at, value in reversed(self._voters) if at < offset)

    def truncate_to(self, end_offset: int) -> None:
        self._voters = [one for one in self._voters if one[0] < end_offset]
        self._kraft_versions = [one for one in self._kraft_versions if one[0] < end_offset]

    def forget_before(self, offset: int) -> None:
        """What held at `offset` stays, as the oldest that can be asked for."""
        self._voters = _since(self._voters, offset)
        self._kraft_versions = _since(self._kraft_versions, offset)


def _since(entries: list[tuple[int, T]], offset: int) -> list[tuple[int, T]]:
    first = max(i for i, (at, _) in enumerate(entries) if at <= max(offset, entries[0][0]))
    return entries[first:]
