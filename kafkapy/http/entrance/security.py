"""How HTTP is secured: as the broker's listeners are, and by no less."""

from typing import TYPE_CHECKING, Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.values import ConfigError

if TYPE_CHECKING:
    from kafkapy.server.tls.contexts import ListenerTls

# As listeners of Kafka's protocol have settings of their own: listener.name.http.ssl...
LISTENER: Final = "HTTP"
_LISTENER: Final = "http.security.listener"


def security_listener(config: BrokerConfig) -> str | None:
    """None: nobody is asked who he is. ConfigError for one that is not there."""
    sasl = [one.name for one in config.listening.broker if one.protocol.has_sasl]
    named = config.http_security_listener
    if named is None:
        return sasl[0] if sasl else None
    if named.upper() not in sasl:
        raise ConfigError(_LISTENER, named, f"of the broker's listeners these have SASL: {sasl}.")
    return named.upper()


def http_tls(config: BrokerConfig, has_tls: bool) -> "ListenerTls | None":
    if not has_tls:
        return None
    from kafkapy.broker.config.security.tls import tls_settings
    from kafkapy.server.tls.contexts import ListenerTls

    settings = tls_settings(config, LISTENER)
    if settings.keys.is_empty:
        asked = "https needs a certificate and its key (listener.name.http.ssl.keystore...)."
        raise ConfigError(settings.keys.key, None, asked)
    return ListenerTls(config, LISTENER)


def check_secured(config: BrokerConfig, tls: "ListenerTls | None") -> None:
    """HTTP lets nobody in by the back door: where Kafka's clients show a certificate and no
    password, so do HTTP's."""
    if security_listener(config) is not None:
        return
    asks = [one.name for one in config.listening.broker if one.protocol.has_tls]
    asks = [one for one in asks if config.listener_value(one, "ssl.client.auth") == "required"]
    own = tls is not None and config.listener_value(LISTENER, "ssl.client.auth") == "required"
    is_plain = any(text.startswith("http:") for text in config.http_listeners)
    if asks and (is_plain or not own):
        asked = (
            f"clients of {asks[0]} have to show a certificate; over HTTP they would not. Use "
            "https alone, with listener.name.http.ssl.client.auth=required."
        )
        raise ConfigError("http.listeners", ",".join(config.http_listeners), asked)
