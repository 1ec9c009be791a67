"""What every SASL mechanism is to those who run it, on either side.

    server   client's token --> evaluate --> challenge --> ... --> is_complete: `user` is known
    client   first --> challenge --> answer --> ... --> is_complete: the server is who it says

No token, and nothing of a password, is ever in an exception.
"""

from typing import Protocol


class LoginFailed(Exception):
    """`told` is what the other side may hear; None: only that the credentials are not good.
    The exception's own text is for this node's journal."""

    def __init__(self, reason: str, *, told: str | None = None) -> None:
        super().__init__(reason)
        self.told = told


class ServerMechanism(Protocol):
    """One login of one client."""

    is_complete: bool
    user: str
    """Who the client says it is, as soon as that is known; proven once complete."""
    lifetime_ms: int | None
    """How long what it showed is good, from its completion on; None: it does not say."""
    is_by_token: bool
    """It was a delegation token."""

    def evaluate(self, token: bytes) -> bytes:
        """The challenge; LoginFailed ends the login."""


class ClientMechanism(Protocol):
    """One login at another node."""

    name: str
    is_complete: bool

    def first(self) -> bytes: ...

    def evaluate(self, challenge: bytes) -> bytes:
        """The answer; LoginFailed if the server is not what it should be. Once complete there
        is nothing more to say."""
