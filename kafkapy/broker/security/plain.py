"""SASL PLAIN (RFC 4616): [authorization id] NUL user NUL password.

Users stand in the listener's JAAS line: user_alice="her password". A password travels as it
is: a listener with PLAIN wants TLS under it.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256

from kafkapy.broker.security.mechanism import LoginFailed

_PARTS = 3


class PlainServer:
    def __init__(self, options: Mapping[str, str]) -> None:
        self.is_complete = False
        self.user = ""
        self.lifetime_ms: int | None = None
        self.is_by_token = False
        self._options = options

    def evaluate(self, token: bytes) -> bytes:
        parts = token.decode("utf-8", "replace").split("\0", _PARTS - 1)
        if len(parts) != _PARTS:
            raise LoginFailed(f"a PLAIN token of {len(parts)} parts")
        authorization_id, user, password = parts
        self.user = user
        if not user or not password:
            raise LoginFailed("a PLAIN token without a user or without a password")
        expected = self._options.get(f"user_{user}")
        # Somebody unknown takes as long as a wrong password.
        is_right = _is_same(password, "" if expected is None else expected)
        if expected is None or not is_right:
            raise LoginFailed(
                "unknown user" if expected is None else "wrong password",
                told="Authentication failed: Invalid username or password",
            )
        if authorization_id not in ("", user):
            raise LoginFailed(
                "another authorization id than the user's",
                told="Authentication failed: Client requested an authorization id that is "
                "different from username",
            )
        self.is_complete = True
        return b""


class PlainClient:
    name = "PLAIN"

    def __init__(self, user: str, password: str) -> None:
        self.is_complete = False
        self._token = f"\0{user}\0{password}".encode()

    def first(self) -> bytes:
        return self._token

    def evaluate(self, challenge: bytes) -> bytes:
        self.is_complete = True
        return b""


def _is_same(one: str, other: str) -> bool:
    """Hashed first, so that the time does not tell the length either."""
    return hmac.compare_digest(sha256(one.encode()).digest(), sha256(other.encode()).digest())
