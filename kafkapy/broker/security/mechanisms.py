"""Which mechanism a listener has by which name, with what it needs of the node."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from kafkapy.broker.config.security.listener_security import (
    OAUTHBEARER,
    PLAIN,
    UNSECURED_HANDLER,
    ListenerSecurity,
    outbound,
)
from kafkapy.broker.security.delegation_tokens import TokenCredentials, TokenLogin
from kafkapy.broker.security.fetching import Fetch, FetchRequest
from kafkapy.broker.security.key_file import KeyFile
from kafkapy.broker.security.key_url import MOST_BYTES, KeyUrl, RefreshSettings
from kafkapy.broker.security.mechanism import ClientMechanism, ServerMechanism
from kafkapy.broker.security.oauthbearer import Judge, OAuthBearerClient, OAuthBearerServer
from kafkapy.broker.security.own_token import FetchedToken, FileToken
from kafkapy.broker.security.plain import PlainClient, PlainServer
from kafkapy.broker.security.scram import ScramClient, ScramServer
from kafkapy.broker.security.signed_tokens import SignedJudge
from kafkapy.broker.security.unsecured_tokens import UnsecuredJudge, unsecured_token
from kafkapy.core.seams import Clock, Disk, Journal, Rng
from kafkapy.protocol import scram
from kafkapy.protocol.scram import Credential, ScramMechanism

if TYPE_CHECKING:
    from kafkapy.broker.config.broker_config import BrokerConfig
    from kafkapy.broker.node.base import NodeBase


class ServerMechanisms:
    """Of one listener; keeps what is worth keeping from one login to the next."""

    def __init__(self, node: "NodeBase", security: ListenerSecurity) -> None:
        self._node = node
        self._security = security
        secret = node.config.delegation_token_secret_key
        self._token_credentials = TokenCredentials(secret, node.rng) if secret else None
        self._key_file: KeyFile | None = None
        self._key_url: KeyUrl | None = None
        if OAUTHBEARER in security.mechanisms and self._takes_signed_tokens:
            self._fetch_keys()

    def make(self, name: str) -> ServerMechanism:
        """For one login; `name` is one of those that the listener has enabled."""
        if name == PLAIN:
            return PlainServer(self._security.options(name))
        if name == OAUTHBEARER:
            return OAuthBearerServer(self.judge())
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
        credentials, token = self._token_credentials, self._node.image.tokens.get(token_id)
        if credentials is None or token is None:
            return None
        owner = token.owner.partition(":")[2]
        ends = min(token.max_timestamp, token.expiration_timestamp)
        return TokenLogin(owner, credentials.of(token_id, mechanism), ends)

    def judge(self) -> Judge:
        """Of tokens, as the settings are now."""
        security, node = self._security, self._node
        if not self._takes_signed_tokens:
            return UnsecuredJudge(security.options(OAUTHBEARER), node.clock.wall)
        settings = security.tokens
        if self._key_url is not None:
            return SignedJudge(settings, self._key_url, node.clock.wall, self._key_url.unknown)
        if self._key_file is None:
            assert settings.keys_path is not None, "a file or a URL, or it had not started"
            self._key_file = KeyFile(node.disk, node.journal, settings.keys_path)
        return SignedJudge(settings, self._key_file, node.clock.wall)

    @property
    def _takes_signed_tokens(self) -> bool:
        return self._security.callback_handler(OAUTHBEARER) != UNSECURED_HANDLER

    def _fetch_keys(self) -> None:
        """From now on, if they are not in a file."""
        settings, node, url = self._security.keys, self._node, self._security.tokens.keys_url
        if self._security.tokens.keys_path is None:
            self._key_url = KeyUrl(
                node.fetch,
                FetchRequest(
                    url,
                    self._security.keys_trusted,
                    settings.connect_timeout_ms,
                    settings.read_timeout_ms,
                    MOST_BYTES,
                ),
                RefreshSettings(settings.refresh_ms, settings.backoff_ms, settings.backoff_max_ms),
                node.clock,
                node.journal,
            )
            self._key_url.start()


class OwnTokens:
    """Tokens of a provider that this node shows at other nodes', by listener; fetched from the
    beginning on."""

    def __init__(
        self,
        config: "BrokerConfig",
        fetch: Fetch,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        journal: Journal,
    ) -> None:
        self._by_listener: dict[str, FileToken | FetchedToken] = {}
        for name, protocol, key in outbound(config):
            if not protocol.has_sasl or config.value(key) != OAUTHBEARER:
                continue
            security = ListenerSecurity(config, name)
            if not security.has_provided_token or name in self._by_listener:
                continue
            source = security.own_token
            if source.path is not None:
                self._by_listener[name] = FileToken(disk, source.path)
                continue
            fetched = FetchedToken(fetch, source, security.own_token_times, clock, rng, journal)
            self._by_listener[name] = fetched
            fetched.start()

    def of(self, listener: str) -> Callable[[], str] | None:
        return self._by_listener.get(listener)


def client_mechanism(
    name: str, security: ListenerSecurity, tokens: OwnTokens, clock: Clock, rng: Rng
) -> ClientMechanism:
    """For one login at another node's listener of this name."""
    options = security.options(name)
    if name == OAUTHBEARER:
        token = tokens.of(security.listener)
        return OAuthBearerClient(token or (lambda: unsecured_token(options, clock.wall())))
    user, password = options.get("username", ""), options.get("password", "")
    if name == PLAIN:
        return PlainClient(user, password)
    return ScramClient(scram.MECHANISMS[name], user, password, rng)
