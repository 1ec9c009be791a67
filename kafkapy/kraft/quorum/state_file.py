"""The quorum-state file: what a voter must not forget.

An epoch in which it voted, or that somebody leads, survives the process: otherwise it
could vote twice in one epoch. One line of JSON, replaced whole. With kraft.version 0 it
also names the voters; with 1 a vote names a directory too. formats/quorum 7.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Disk
from kafkapy.kraft.quorum.voters import ReplicaKey
from kafkapy.kraft.uuids import ZERO_UUID, uuid_from_text, uuid_to_text

QUORUM_STATE: Final = "quorum-state"


class ElectionState(NamedTuple):
    """In `epoch`: who leads, as far as this replica knows, and whom it voted for."""

    epoch: int = 0
    leader_id: int | None = None
    voted: ReplicaKey | None = None


def read_quorum_state(disk: Disk, path: str) -> ElectionState:
    """Epoch 0 without leader or vote if there is no file yet."""
    try:
        data = disk.read_file(path)
    except FileNotFoundError:
        return ElectionState()
    return parse_quorum_state(data)


def parse_quorum_state(data: bytes) -> ElectionState:
    try:
        stored: Any = json.loads(data)
        version, epoch = stored["data_version"], stored["leaderEpoch"]
        leader_id, voted_id = stored.get("leaderId", -1), stored.get("votedId", -1)
        directory = stored["votedDirectoryId"] if version == 1 else None
        numbers = (version, epoch, leader_id, voted_id)
        if not all(isinstance(number, int) for number in numbers):
            raise Corrupt(f"quorum-state with {numbers} instead of numbers")
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise Corrupt(f"quorum-state cannot be understood: {problem!r}") from problem
    if version not in (0, 1):
        raise Corrupt(f"quorum-state of an unknown data_version {version}")
    voted = None
    if voted_id >= 0:
        directory_id = ZERO_UUID if directory is None else uuid_from_text(str(directory))
        voted = ReplicaKey(voted_id, None if directory_id == ZERO_UUID else directory_id)
    return ElectionState(epoch, leader_id if leader_id >= 0 else None, voted)


def render_quorum_state(
    state: ElectionState, *, kraft_version: int, voter_ids: Sequence[int]
) -> bytes:
    leader_id = -1 if state.leader_id is None else state.leader_id
    voted_id = -1 if state.voted is None else state.voted.id
    if kraft_version == 0:
        stored: dict[str, Any] = {
            "clusterId": "",
            "leaderId": leader_id,
            "leaderEpoch": state.epoch,
            "votedId": voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter_id} for voter_id in voter_ids],
            "data_version": 0,
        }
    else:
        directory = (state.voted and state.voted.directory_id) or ZERO_UUID
        stored = {
            "leaderId": leader_id,
            "leaderEpoch": state.epoch,
            "votedId": voted_id,
            "votedDirectoryId": uuid_to_text(directory),
            "data_version": 1,
        }
    return json.dumps(stored, separators=(",", ":")).encode()
