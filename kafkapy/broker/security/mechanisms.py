"""Which mechanism a listener has by which name, with what it needs of the node."""

from functools import partial
from typing import TYPE_CHECKING

from kafkapy.broker.config.security import OAUTHBEARER, PLAIN, UNSECURED_HANDLER, ListenerSecurity
from kafkapy.broker.security.delegation_tokens import TokenLogin
from kafkapy.broker.security.key_file import KeyFile
from kafkapy.broker.security.mechanism import ClientMechanism, ServerMechanism
from kafkapy.broker.security.oauthbearer import Judge, OAuthBearerClient, OAuthBearerServer
from kafkapy.broker.security.plain import PlainClient, PlainServer
from kafkapy.broker.security.scram import ScramClient, ScramServer
from kafkapy.broker.security.signed_tokens import SignedJudge
from kafkapy.broker.security.unsecured_tokens import UnsecuredJudge, unsecured_token
from kafkapy.core.seams import Clock, Rng
from kafkapy.protocol import scram
from kafkapy.protocol.scram import Credential, ScramMechanism

if TYPE_CHECKING:
    from kafkapy.broker.node.base import NodeBase


class ServerMechanisms:
    """Of one listener; keeps what is worth keeping from one login to the next."""

    def __init__(self, node: "NodeBase", security: ListenerSecurity) -> None:
        self._node = node
        self._security = security
        self._keys: KeyFile | None = None

    def make(self, name: str) -> ServerMechanism:
        """For one login; `name` is one of those that the listener has enabled."""
        if name == PLAIN:
            return PlainServer(self._security.options(name))
        if name == OAUTHBEARER:
            return OAuthBearerServer(self._judge())
        mechanism = scram.MECHANISMS[name]
        return ScramServer(
            mechanism,
            partial(self._credential, mechanism.type),
            partial(self._token, mechanism),
            self._node.clock.wall,
            self._node.rng,
        )

    def _credential(self, mechanism: int, user: str) -> Credential | None:
        found = self._node.image.scram.get((user, mechanism))
        if found is None:
            return None
        return Credential(found.salt, found.stored_key, found.server_key, found.iterations)

    def _token(self, mechanism: ScramMechanism, token_id: str) -> TokenLogin | None:
        credentials, token = self._node.token_credentials, self._node.image.tokens.get(token_id)
        if credentials is None or token is None:
            return None
        owner = token.owner.partition(":")[2]
        ends = min(token.max_timestamp, token.expiration_timestamp)
        return TokenLogin(owner, credentials.of(token_id, mechanism), ends)

    def _judge(self) -> Judge:
        security, node = self._security, self._node
        if security.callback_handler(OAUTHBEARER) == UNSECURED_HANDLER:
            return UnsecuredJudge(security.options(OAUTHBEARER), node.clock.wall)
        settings = security.tokens
        if self._keys is None or self._keys.path != settings.keys_path:
            self._keys = KeyFile(node.disk, node.journal, settings.keys_path)
        return SignedJudge(settings, self._keys, node.clock.wall)


def client_mechanism(
    name: str, security: ListenerSecurity, clock: Clock, rng: Rng
) -> ClientMechanism:
    """For one login at another node's listener of this name."""
    options = security.options(name)
    if name == OAUTHBEARER:
        return OAuthBearerClient(lambda: unsecured_token(options, clock.wall()))
    user, password = options.get("username", ""), options.get("password", "")
    if name == PLAIN:
        return PlainClient(user, password)
    return ScramClient(scram.MECHANISMS[name], user, password, rng)
