"""Delegation tokens at the door: who logs in by one, and who may ask for one.

    client   n=<token id>, tokenauth=true, password: the token's HMAC in base64
    server   the token of the metadata, its HMAC made anew, SCRAM as with any password
             --> the token's owner, until the token expires

A credential is made when a token is first logged in by, and kept as long as it is among the last
thousand: two milliseconds of work that nobody can ask for without knowing the token's id.
"""

from base64 import b64encode
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkapy.broker.config.listeners import SecurityProtocol
from kafkapy.core.seams import Rng
from kafkapy.kraft.delegation_tokens import hmac_of
from kafkapy.protocol import scram
from kafkapy.protocol.scram import Credential, ScramMechanism

if TYPE_CHECKING:
    from kafkapy.broker.config.broker_config import BrokerConfig
    from kafkapy.broker.requests.request import Peer

_MOST_CREDENTIALS: Final = 1000
_ANONYMOUS: Final = "User:ANONYMOUS"


class TokenLogin(NamedTuple):
    """`ends`: the time of day at which the token does."""

    owner: str
    credential: Credential
    ends: int


class TokenCredentials:
    def __init__(self, secret: str, rng: Rng) -> None:
        self._secret = secret
        self._rng = rng
        self._known: OrderedDict[tuple[str, str], Credential] = OrderedDict()

    def of(self, token_id: str, mechanism: ScramMechanism) -> Credential:
        key = token_id, mechanism.name
        found = self._known.pop(key, None)
        if found is None:
            found = self._made(token_id, mechanism)
        self._known[key] = found
        if len(self._known) > _MOST_CREDENTIALS:
            self._known.popitem(last=False)
        return found

    def _made(self, token_id: str, mechanism: ScramMechanism) -> Credential:
        password = b64encode(hmac_of(self._secret, token_id)).decode()
        salt, iterations = self._rng.uuid().bytes, scram.MIN_ITERATIONS
        salted = scram.salted_password(mechanism, password, salt, iterations)
        return scram.credential_of(mechanism, salted, salt, iterations)


def may_ask_about_tokens(config: "BrokerConfig", peer: "Peer") -> bool:
    """Whoever has proven who it is, by something else than a token. What a broker has handed on
    it has asked that of itself."""
    if peer.is_by_token:
        return False
    if peer.is_handed_on:
        return True
    protocol = config.listening.protocol_of(peer.listener)
    if protocol is SecurityProtocol.SSL:
        return peer.principal != _ANONYMOUS
    return protocol.has_sasl
