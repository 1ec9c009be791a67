"""Tokens that an identity provider signed: JWT (RFC 7519), checked against its keys (a JWKS).

    signature by a key of the JWKS -> not expired, not from the future -> issuer, audience -> user

What has no signature, or one that who knows the public key could make (HS256 ...), is refused
whatever the JWKS says. Needs `cryptography`.
"""

from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kafkapy.broker.config.security.listener_security import TokenSettings
from kafkapy.broker.security.oauthbearer import BadToken, Token
from kafkapy.broker.security.unsecured_tokens import json_part, scope_of, seconds, user_of
from kafkapy.core.time import Instant

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    # Said to be one: where kafkapy is compiled these packages are not there to tell.
    PublicKey: TypeAlias = RSAPublicKey | EllipticCurvePublicKey

_PARTS: Final = 3
_HASHES: Final = {"256": "SHA256", "384": "SHA384", "512": "SHA512"}
# By a key's "crv": its class, the algorithm that goes with it, and the bytes of a coordinate.
_CURVES: Final = {
    "P-256": ("SECP256R1", "ES256", 32),
    "P-384": ("SECP384R1", "ES384", 48),
    "P-521": ("SECP521R1", "ES512", 66),
}
_ALGORITHMS: Final = frozenset(
    {f"{kind}{size}" for kind in ("RS", "PS") for size in _HASHES} | {"ES256", "ES384", "ES512"}
)
_LEAST_RSA_BITS: Final = 2048


class BadKeys(ValueError):
    """Not a JWKS."""


class SignedJudge:
    """`keys` gives the provider's as they are now, by their ids; `unknown` is told when a token
    names another."""

    def __init__(
        self,
        settings: TokenSettings,
        keys: "Callable[[], Mapping[str, PublicKey]]",
        wall: Callable[[], Instant],
        unknown: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._unknown = unknown
        self._wall = wall

    def __call__(self, token: str) -> Token:
        parts = token.split(".")
        if len(parts) != _PARTS or not all(parts):
            raise BadToken("not a signed token")
        header, claims = json_part(parts[0]), json_part(parts[1])
        self._check_signature(header, f"{parts[0]}.{parts[1]}".encode(), _decoded(parts[2]))
        return self._judged(claims)

    def _check_signature(self, header: Mapping[str, Any], data: bytes, signature: bytes) -> None:
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS or "crit" in header:
            raise BadToken("a token that is signed in a way that is not taken")
        keys = self._keys()
        found = keys.get(key_id) if isinstance(key_id, str) else None
        if found is None and key_id is None and len(keys) == 1:
            found = next(iter(keys.values()))
        if found is None:
            self._unknown()
            raise BadToken("a token that is signed by a key that nobody knows")
        if not _is_signature(algorithm, found, data, signature):
            raise BadToken("a token whose signature is wrong")

    def _judged(self, claims: Mapping[str, Any]) -> Token:
        settings, now = self._settings, self._wall()
        skew_ms = settings.clock_skew_seconds * 1000
        expires = seconds(claims, "exp", is_needed=True)
        issued = seconds(claims, "iat", is_needed=True)
        if expires + skew_ms <= now:
            raise BadToken("a token that has expired")
        if max(issued, seconds(claims, "nbf", is_needed=False)) - skew_ms > now:
            raise BadToken("a token from the future")
        if settings.issuer is not None and claims.get("iss") != settings.issuer:
            raise BadToken("a token of another issuer")
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        if settings.audiences and not any(one in settings.audiences for one in audiences):
            raise BadToken("a token for another audience")
        user = user_of(claims, settings.user_claim)
        scope_of(claims, settings.scope_claim)  # it is the authorizer's business
        return Token(user, max(0, expires - now))


def _is_signature(algorithm: str, key: "PublicKey", data: bytes, signature: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    digest = getattr(hashes, _HASHES[algorithm[2:]])()
    try:
        if isinstance(key, rsa.RSAPublicKey):
            if algorithm.startswith("RS"):
                key.verify(signature, data, padding.PKCS1v15(), digest)
            elif algorithm.startswith("PS"):
                size = digest.digest_size
                key.verify(signature, data, padding.PSS(padding.MGF1(digest), size), digest)
            else:
                return False
            return True
        curve = next(one for one in _CURVES.values() if one[0].lower() == key.curve.name)
        if algorithm != curve[1] or len(signature) != 2 * curve[2]:
            return False
        r, s = (int.from_bytes(part, "big") for part in (signature[: curve[2]],
                                                         signature[curve[2] :]))  # fmt: skip
        key.verify(encode_dss_signature(r, s), data, ec.ECDSA(digest))
    except (InvalidSignature, ValueError):
        return False
    return True


def read_keys(text: bytes) -> "dict[str, PublicKey]":
    """Of a JWKS (RFC 7517), those that sign; BadKeys if it is none, or has none of them."""
    import json

    try:
        rows = json.loads(text)["keys"]
        keys = {str(row.get("kid", index)): _key(row) for index, row in enumerate(rows)}
    except (ValueError, TypeError, KeyError, AttributeError, BadToken, RecursionError):
        raise BadKeys("it is not a set of keys (JWKS).") from None
    found = {name: key for name, key in keys.items() if key is not None}
    if not found:
        raise BadKeys("it has no key that a token could be signed by.")
    return found


def _key(row: Mapping[str, Any]) -> "PublicKey | None":
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if row.get("use", "sig") != "sig":
        return None
    if row.get("kty") == "RSA":
        e, n = (int.from_bytes(_decoded(row[name]), "big") for name in ("e", "n"))
        return (
            rsa.RSAPublicNumbers(e, n).public_key() if n.bit_length() >= _LEAST_RSA_BITS else None
        )
    if row.get("kty") == "EC" and row.get("crv") in _CURVES:
        x, y = (int.from_bytes(_decoded(row[name]), "big") for name in ("x", "y"))
        curve: ec.EllipticCurve = getattr(ec, _CURVES[row["crv"]][0])()
        return ec.EllipticCurvePublicNumbers(x, y, curve).public_key()
    return None


def _decoded(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise BadToken("a token that cannot be read") from None
