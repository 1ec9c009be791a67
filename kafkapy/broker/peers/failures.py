"""What can become of a call to another node instead of an answer.

All of these say that nobody knows whether the request was carried out, except for
REFUSED, UNREACHABLE, NOT_ADMITTED and UNSUPPORTED: it was not.
"""

from enum import Enum


class Why(Enum):
    REFUSED = "refused"  # the machine is there, nobody listens: a dead process
    UNREACHABLE = "unreachable"
    BROKEN = "broken"
    TIMED_OUT = "timed out"
    UNSUPPORTED = "unsupported"  # no version of the API that both speak
    NONSENSE = "nonsense"  # the answer cannot be read
    NOT_ADMITTED = "not admitted"  # it does not take our login
    CLOSED = "closed"  # by this node


class CallFailed(Exception):
    """No answer came; `why` tells a dead peer from a slow one."""

    def __init__(self, why: Why, reason: str) -> None:
        super().__init__(f"{why.value}: {reason}")
        self.why = why
