"""Who votes first in a dynamic quorum, as an operator names them (KIP-853).

    id@host:port:directory,...     the same list on every node, with directory ids drawn before

formats/metadata 5.
"""

import re
from typing import Final

from kafkapy.core.errors import Corrupt
from kafkapy.kraft.quorum.voters import ReplicaKey, Voter, VoterAddress, VoterSet
from kafkapy.kraft.uuids import is_reserved_directory, uuid_from_text

_VOTER: Final = re.compile(
    r"(?P<id>\d+)@\[?(?P<host>[0-9a-zA-Z\-%._:]+?)\]?:(?P<port>\d+):(?P<directory>[\w\-]+)"
)
_LAST_PORT: Final = 65535


def parse_first_voters(text: str, listener: str) -> VoterSet:
    """Corrupt, with a sentence, if it is not such a list."""
    voters = [_voter(one.strip(), listener) for one in text.split(",") if one.strip()]
    if not voters:
        raise Corrupt("the list of initial controllers is empty")
    if len({one.key.id for one in voters}) != len(voters):
        raise Corrupt(f"{text!r} names a controller twice")
    if len({one.key.directory_id for one in voters}) != len(voters):
        raise Corrupt(f"{text!r} names a directory twice")
    return VoterSet(voters)


def _voter(text: str, listener: str) -> Voter:
    found = _VOTER.fullmatch(text)
    if found is None or int(found["port"]) > _LAST_PORT:
        raise Corrupt(f"{text!r} is not a controller of the form id@host:port:directory")
    directory = uuid_from_text(found["directory"])
    if is_reserved_directory(directory):
        raise Corrupt(f"{found['directory']} is not an id that a directory may have")
    address = VoterAddress(listener, found["host"], int(found["port"]))
    return Voter(ReplicaKey(int(found["id"]), directory), (address,))
