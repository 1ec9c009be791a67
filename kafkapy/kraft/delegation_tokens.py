"""Delegation tokens: an id that everybody may know, and an HMAC of it that is the password.

    HMAC-SHA-512(delegation.token.secret.key, id)   shown to whoever makes or describes the token

The metadata log has the id, whose it is and until when; never the HMAC, which every node that has
the secret makes again (KIP-48, KIP-900). formats/metadata 2.
"""

import hmac
from collections.abc import Mapping
from typing import Final

from kafkapy.core.time import Instant
from kafkapy.kraft.records.metadata import DelegationTokenRecord

# Who may renew, and so who may be named: Kafka takes users alone.
USER_TYPE: Final = "User"


def hmac_of(secret: str, token_id: str) -> bytes:
    return hmac.digest(secret.encode(), token_id.encode(), "sha512")


def is_expired(token: DelegationTokenRecord, wall: Instant) -> bool:
    return min(token.max_timestamp, token.expiration_timestamp) < wall


def may_manage(token: DelegationTokenRecord, principal: str) -> bool:
    """Its owner and those it named may renew it, end it and see it."""
    return principal == token.owner or principal in token.renewers


class TokensByHmac:
    """Finds a token by what its holder shows. Each HMAC is made once."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._ids: dict[bytes, str] = {}

    def find(
        self, tokens: Mapping[str, DelegationTokenRecord], shown: bytes
    ) -> DelegationTokenRecord | None:
        known = set(self._ids.values())
        if known != tokens.keys():
            self._ids = {one: id_ for one, id_ in self._ids.items() if id_ in tokens}
            self._ids |= {hmac_of(self._secret, id_): id_ for id_ in tokens.keys() - known}
        # By a hash of all of it, with a key of this process: time tells nothing of the bytes.
        token_id = self._ids.get(shown)
        return None if token_id is None else tokens[token_id]
