"""Where a node gets the token of OAUTHBEARER that it shows at other nodes' listeners.

    sasl.login.callback.handler.class          Kafka's class for tokens of a provider, or unsecured
    sasl.oauthbearer.token.endpoint.url        https://... issues them; file:///... holds one
    sasl.oauthbearer.client.credentials.*      as whom to ask, or clientId, clientSecret, scope of
    sasl.oauthbearer.scope                     the JAAS line, as before Kafka 4.1
    sasl.login.refresh.*, .retry.backoff.*     when it is asked for the next one

It is asked by the client credentials grant (RFC 6749 4.4); assertions (RFC 7523) are not made.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from kafkapy.broker.config.security.tls import Store
from kafkapy.broker.config.table.values import ConfigError

HANDLER_KEY: Final = "sasl.login.callback.handler.class"
URL_KEY: Final = "sasl.oauthbearer.token.endpoint.url"
RETRIEVER_KEY: Final = "sasl.oauthbearer.jwt.retriever.class"
_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer."
PROVIDED: Final = f"{_PACKAGE}OAuthBearerLoginCallbackHandler"
UNSECURED: Final = f"{_PACKAGE}internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
# The one that looks what stands at the URL, and those for either.
DEFAULT_RETRIEVER: Final = f"{_PACKAGE}DefaultJwtRetriever"
_RETRIEVERS: Final = (
    DEFAULT_RETRIEVER,
    f"{_PACKAGE}ClientCredentialsJwtRetriever",
    f"{_PACKAGE}FileJwtRetriever",
)
# Of the JAAS line: who an unsecured token is for.
UNSECURED_USER: Final = "unsecuredLoginStringClaim_sub"
# Where tokens, and the keys that they are checked by, may be.
PLACE: Final = re.compile(r"file:///.+|https?://[^/?#@\s]+([/?][^\s#]*)?")
_FILE: Final = "file://"


class TokenSource(NamedTuple):
    url: str
    client_id: str
    client_secret: str
    scope: str
    trusted: Store
    connect_timeout_ms: int
    read_timeout_ms: int

    @property
    def path(self) -> str | None:
        """If it is a file."""
        found = self.url.removeprefix(_FILE)
        return found if found != self.url else None

    def __repr__(self) -> str:
        return f"TokenSource({self.url!r})"  # and no secret


class RefreshTimes(NamedTuple):
    """Of a token's life; Kafka's meaning and names."""

    window_factor: float
    window_jitter: float
    min_period_ms: int
    buffer_ms: int
    backoff_ms: int
    backoff_max_ms: int


Given = Callable[[str], str | None]
"""A setting's text by its name; None or "" if it has none."""


def is_provided(given: Given) -> bool:
    """A provider issues it: else it is made here, and worth nothing."""
    return given(HANDLER_KEY) == PROVIDED


def token_source(
    given: Given, options: Mapping[str, str], key: str, timeouts_ms: tuple[int, int]
) -> TokenSource:
    """`options` of the JAAS line that stands at `key`."""

    def either(name: str, option: str) -> str:
        return given(name) or options.get(option, "")

    return TokenSource(
        given(URL_KEY) or "",
        either("sasl.oauthbearer.client.credentials.client.id", "clientId"),
        either("sasl.oauthbearer.client.credentials.client.secret", "clientSecret"),
        either("sasl.oauthbearer.scope", "scope"),
        provider_trusted(options, key),
        *timeouts_ms,
    )


def provider_trusted(options: Mapping[str, str], key: str) -> Store:
    """Whose certificate a provider may have: ssl.truststore.* of the JAAS line, as Kafka's login
    module has it. Empty: whom the system trusts."""
    return Store(
        key,
        options.get("ssl.truststore.type", "JKS").upper(),
        options.get("ssl.truststore.location") or None,
        options.get("ssl.truststore.password"),
        pem_certificates=options.get("ssl.truststore.certificates") or None,
    )


def check_own_token(given: Given, source: TokenSource, options: Mapping[str, str]) -> None:
    """ConfigError, with the names of keys as they are without a listener's prefix."""
    handler = given(HANDLER_KEY)
    if handler in (None, "", UNSECURED):
        if not options.get(UNSECURED_USER):
            raise ConfigError(
                HANDLER_KEY,
                handler,
                f"to log in by tokens of a provider, say {PROVIDED}; an unsecured one needs "
                f"{UNSECURED_USER} in the JAAS line.",
            )
        return
    if handler != PROVIDED:
        raise ConfigError(
            HANDLER_KEY, handler, f"kafkapy loads no Java classes; it knows {PROVIDED}."
        )
    retriever = given(RETRIEVER_KEY)
    if retriever not in _RETRIEVERS:
        raise ConfigError(
            RETRIEVER_KEY,
            retriever,
            "kafkapy gets tokens from a file or by client credentials, not by assertions; leave "
            "it out.",
        )
    if not PLACE.fullmatch(source.url):
        raise ConfigError(
            URL_KEY,
            source.url or None,
            "where tokens are issued is https://<host>/<path>; one is also read from file:///<path>.",
        )
    if source.path is None and not (source.client_id and source.client_secret):
        raise ConfigError(
            "sasl.oauthbearer.client.credentials.client.id",
            source.client_id or None,
            "who asks for tokens is said with it and its ...client.secret, or by clientId and "
            "clientSecret in the JAAS line.",
        )
