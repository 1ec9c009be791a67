"""SASL OAUTHBEARER (RFC 7628): n,[a=authorization id],^A auth=Bearer <token> ^A [name=value ^A] ^A

    token --> good: complete    not good: {"status":"invalid_token"} --^A--> failed

Who judges a token is given: `Judge`.
"""

import json
import re
from collections.abc import Callable
from typing import Final, NamedTuple

from kafkapy.broker.security.mechanism import LoginFailed

_FIRST: Final = re.compile(
    r"n,(?:a=(?P<authzid>(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+))?,\x01"
    r"(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_BEARER: Final = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +(?P<token>[-_~+/.A-Za-z0-9]+=*)")
_SHRUG: Final = b"\x01"


class Token(NamedTuple):
    """Of a token that is good: whose it is, and for how long."""

    user: str
    lifetime_ms: int


class BadToken(Exception):
    """Why, for the journal; nothing of the token."""


Judge = Callable[[str], Token]


class OAuthBearerServer:
    def __init__(self, judge: Judge) -> None:
        self.is_complete = False
        self.user = ""
        self.lifetime_ms: int | None = None
        self.is_by_token = False
        self._judge = judge
        self._refused: str | None = None

    def evaluate(self, token: bytes) -> bytes:
        if self._refused is not None:
            raise LoginFailed(self._refused, told=_refusal())
        bearer, authorization_id = _read(token)
        try:
            found = self._judge(bearer)
        except BadToken as bad:
            # The client answers with one byte, and is told then.
            self._refused = str(bad)
            return _refusal().encode()
        self.user = found.user
        if authorization_id not in ("", found.user):
            raise LoginFailed(
                "another authorization id than the token's",
                told="Authentication failed: Client requested an authorization id that is "
                "different from the token's principal name",
            )
        self.lifetime_ms = found.lifetime_ms
        self.is_complete = True
        return b""


class OAuthBearerClient:
    name = "OAUTHBEARER"

    def __init__(self, token: Callable[[], str]) -> None:
        self.is_complete = False
        self._token = token

    def first(self) -> bytes:
        return f"n,,\x01auth=Bearer {self._token()}\x01\x01".encode()

    def evaluate(self, challenge: bytes) -> bytes:
        if challenge:
            return _SHRUG  # it is told why next, as a failure
        self.is_complete = True
        return b""


def _read(data: bytes) -> tuple[str, str]:
    """The token and the authorization id."""
    try:
        found = _FIRST.fullmatch(data.decode("ascii"))
    except UnicodeDecodeError:
        found = None
    if found is None:
        raise LoginFailed("no first message of OAUTHBEARER")
    pairs = dict(one.split("=", 1) for one in found["pairs"].split("\x01") if one)
    bearer = _BEARER.fullmatch(pairs.get("auth", ""))
    if bearer is None:
        raise LoginFailed("no bearer token in the first message of OAUTHBEARER")
    authorization_id = (found["authzid"] or "").replace("=2C", ",").replace("=3D", "=")
    return bearer["token"], authorization_id


def _refusal() -> str:
    return json.dumps({"status": "invalid_token"}, separators=(",", ":"))
