"""What may be true of a record in a share group, and how it is written down.

    AVAILABLE --acquire--> ACQUIRED --accept--> ACKNOWLEDGED
        ^                     | | '--reject, gap, too often--> ARCHIVED
        '--release, time is up' |                                 ^
                                '--reject, too often--> ARCHIVING-'  with a dead letter topic

ACKNOWLEDGED and ARCHIVED are the end. ACQUIRED is nobody's but the leader's: what is written
is what is to be so without it (formats/coordinators 4).
"""

from enum import IntEnum
from typing import Final, NamedTuple


class RecordState(IntEnum):
    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    # Written so before its dead letter is: whoever leads next writes that one then (KIP-1191).
    ARCHIVING = 3
    ARCHIVED = 4

    @property
    def is_terminal(self) -> bool:
        return self is RecordState.ACKNOWLEDGED or self is RecordState.ARCHIVED


_STATES: Final = {int(state): state for state in RecordState}


def state_of(number: int) -> RecordState:
    """As it was written. Of a state that nobody knows here a record comes again, rather than
    never."""
    return _STATES.get(number, RecordState.AVAILABLE)


class AcknowledgeType(IntEnum):
    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


class StateBatch(NamedTuple):
    """Records `first_offset` to `last_offset`, both included, as the coordinator keeps them."""

    first_offset: int
    last_offset: int
    state: RecordState
    delivery_count: int
