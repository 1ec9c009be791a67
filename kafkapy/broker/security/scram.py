"""SASL SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802) at both ends.

    RECEIVE FIRST --client first--> RECEIVE FINAL --client final--> complete

Credentials stand in the metadata log (UserScramCredentialRecord); nobody's password does.
"""

import hmac
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from kafkapy.broker.security.delegation_tokens import TokenLogin
from kafkapy.broker.security.mechanism import LoginFailed
from kafkapy.core.errors import Corrupt
from kafkapy.core.seams import Rng
from kafkapy.core.time import Instant
from kafkapy.protocol import scram
from kafkapy.protocol.scram import ClientFirst, Credential, ScramMechanism, ServerFirst

# How far a server may send us computing: what RFC 7677 expects of the future, ten times over
# Kafka's own bound. A login at another node must not hold up this one.
_MOST_ITERATIONS: Final = 160_000

Lookup = Callable[[str], Credential | None]
TokenLookup = Callable[[str], TokenLogin | None]


class ScramServer:
    """`find` gives the user's credential of this mechanism, `find_token` what goes with the id
    of a delegation token."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        find: Lookup,
        find_token: TokenLookup,
        wall: Callable[[], Instant],
        rng: Rng,
    ) -> None:
        self.is_complete = False
        self.user = ""
        self.lifetime_ms: int | None = None
        self.is_by_token = False
        self._mechanism = mechanism
        self._find = find
        self._find_token = find_token
        self._wall = wall
        self._rng = rng
        self._ends: int | None = None
        self._first: tuple[ClientFirst, ServerFirst, Credential] | None = None

    def evaluate(self, token: bytes) -> bytes:
        try:
            if self._first is None:
                return self._answer_first(scram.read_client_first(token))
            return self._answer_final(scram.read_client_final(token), *self._first)
        except Corrupt as bad:
            raise LoginFailed(str(bad)) from None

    def _answer_first(self, first: ClientFirst) -> bytes:
        self.user = first.user
        if first.extensions.get(scram.TOKEN_AUTH, "").lower() == "true":
            credential = self._token_credential(first.user)
        else:
            known = self._find(first.user)
            if known is None:
                raise LoginFailed("unknown user")
            credential = known
        if first.authorization_id not in ("", first.user):
            raise LoginFailed(
                "another authorization id than the user's",
                told="Authentication failed: Client requested an authorization id that is "
                "different from username",
            )
        if credential.iterations < scram.MIN_ITERATIONS:
            raise LoginFailed(f"a credential of {credential.iterations} iterations")
        server = scram.server_first(first.nonce + nonce(self._rng), credential)
        self._first = first, server, credential
        return server.text.encode()

    def _token_credential(self, token_id: str) -> Credential:
        """Who logs in is the token's owner, whom the client does not name."""
        found = self._find_token(token_id)
        if found is None:
            raise LoginFailed("unknown delegation token")
        if found.ends < self._wall():
            raise LoginFailed("a delegation token that has expired")
        self.is_by_token = True
        self.user = found.owner
        self._ends = found.ends
        return found.credential

    def _answer_final(
        self,
        final: scram.ClientFinal,
        first: ClientFirst,
        server: ServerFirst,
        credential: Credential,
    ) -> bytes:
        if not hmac.compare_digest(final.nonce, server.nonce):
            raise LoginFailed("another nonce")
        if final.gs2_header != first.gs2_header.encode():
            raise LoginFailed("another channel binding than at first")
        message = scram.auth_message(first, server, final.without_proof)
        if not scram.is_proof(self._mechanism, credential, message, final.proof):
            raise LoginFailed("wrong password")
        self.is_complete = True
        self._first = None
        if self._ends is not None:
            self.lifetime_ms = max(0, self._ends - self._wall())
        return scram.server_final(
            scram.server_signature(self._mechanism, credential.server_key, message)
        )


class ScramClient:
    """Proves the password, and has the server prove that it knows the credential. `is_token`:
    they are those of a delegation token."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        user: str,
        password: str,
        rng: Rng,
        *,
        is_token: bool = False,
    ) -> None:
        self.name = mechanism.name
        self.is_complete = False
        self._mechanism = mechanism
        self._password = password
        self._first = scram.client_first(user, nonce(rng), is_token=is_token)
        self._signature: bytes | None = None

    def first(self) -> bytes:
        return (self._first.gs2_header + self._first.bare).encode()

    def evaluate(self, challenge: bytes) -> bytes:
        try:
            if self._signature is None:
                return self._prove(scram.read_server_first(challenge))
            if not hmac.compare_digest(scram.read_server_final(challenge), self._signature):
                raise LoginFailed("the server does not know the credential")
        except Corrupt as bad:
            raise LoginFailed(str(bad)) from None
        self.is_complete = True
        return b""

    def _prove(self, server: ServerFirst) -> bytes:
        if not server.nonce.startswith(self._first.nonce) or server.nonce == self._first.nonce:
            raise LoginFailed("the server sent another nonce back")
        if not scram.MIN_ITERATIONS <= server.iterations <= _MOST_ITERATIONS:
            raise LoginFailed(f"the server asks for {server.iterations} iterations")
        mechanism = self._mechanism
        salted = _salted(mechanism, self._password, server.salt, server.iterations)
        final = scram.client_final(self._first.gs2_header, server.nonce)
        message = scram.auth_message(self._first, server, final)
        key = scram.server_key(mechanism, salted)
        self._signature = scram.server_signature(mechanism, key, message)
        client_key = scram.client_key(mechanism, salted)
        return scram.with_proof(final, scram.client_proof(mechanism, client_key, message))


def nonce(rng: Rng) -> str:
    """Two random UUIDs: 244 bits of chance."""
    return rng.uuid().hex + rng.uuid().hex


class _Salted:
    """The last few salted passwords: whoever connects again need not compute for milliseconds."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[tuple[str, str, bytes, int], bytes] = OrderedDict()

    def __call__(
        self, mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
    ) -> bytes:
        key = mechanism.name, password, salt, iterations
        found = self._known.pop(key, None)
        if found is None:
            found = scram.salted_password(mechanism, password, salt, iterations)
        self._known[key] = found
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return found


_salted: Final = _Salted(8)
