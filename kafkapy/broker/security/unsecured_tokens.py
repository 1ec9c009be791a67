"""Tokens that nobody signed (JWT with alg none): anybody may be anybody.

For trying things out, and only where a listener says so by Kafka's own name of it
(`sasl.server.callback.handler.class`). Time, form and scope are checked all the same.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.broker.security.oauthbearer import BadToken, Token
from kafkapy.core.time import Instant

_LIFETIME_S: Final = 3600
_PARTS: Final = 3


class UnsecuredJudge:
    """`options` are of the listener's JAAS line, with Kafka's names."""

    def __init__(self, options: Mapping[str, str], wall: Callable[[], Instant]) -> None:
        self._user_claim = options.get("unsecuredValidatorPrincipalClaimName") or "sub"
        self._scope_claim = options.get("unsecuredValidatorScopeClaimName") or "scope"
        self._scope = set((options.get("unsecuredValidatorRequiredScope") or "").split())
        skew = options.get("unsecuredValidatorAllowableClockSkewMs") or "0"
        self._skew_ms = int(skew) if skew.isdigit() else 0
        self._wall = wall

    def __call__(self, token: str) -> Token:
        parts = token.split(".")
        if len(parts) != _PARTS or parts[2]:
            raise BadToken("not a token without a signature")
        header, claims = json_part(parts[0]), json_part(parts[1])
        if header.get("alg") != "none":
            raise BadToken("a token that is signed, where nobody can check that")
        now = self._wall()
        expires = seconds(claims, "exp", is_needed=True)
        issued = seconds(claims, "iat", is_needed=False)
        if expires + self._skew_ms <= now:
            raise BadToken("a token that has expired")
        if issued - self._skew_ms > now or issued > expires:
            raise BadToken("a token from the future")
        user = user_of(claims, self._user_claim)
        if not self._scope <= scope_of(claims, self._scope_claim):
            raise BadToken("a token without the scope")
        return Token(user, max(0, expires - now))


def json_part(part: str) -> dict[str, Any]:
    """One of a token's parts; BadToken if it is no object."""
    try:
        found = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadToken("a token that cannot be read")
    return found


def seconds(claims: Mapping[str, Any], name: str, *, is_needed: bool) -> int:
    """A time of the claims in ms; 0 for one that is not there and need not be."""
    value = claims.get(name)
    if value is None and not is_needed:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise BadToken(f"a token whose {name} is no time")
    return int(value * 1000)


def user_of(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    # JSON can write halves of characters, which no answer and no record can tell.
    if not isinstance(value, str) or not value.strip() or any(map(_is_half, value)):
        raise BadToken("a token that names nobody")
    return value


def _is_half(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def scope_of(claims: Mapping[str, Any], name: str) -> set[str]:
    value = claims.get(name)
    if isinstance(value, str):
        return set(value.split())
    if isinstance(value, list):
        return {one for one in value if isinstance(one, str)}
    return set()


def unsecured_token(options: Mapping[str, str], now: Instant) -> str:
    """A node's own, as its JAAS line names it (unsecuredLoginStringClaim_sub)."""
    issued = now // 1000
    claims = {
        "sub": options.get("unsecuredLoginStringClaim_sub", ""),
        "iat": issued,
        "exp": issued + _LIFETIME_S,
    }
    parts = ({"alg": "none"}, claims)
    encoded = (urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in parts)
    return ".".join(one.decode() for one in encoded) + "."
