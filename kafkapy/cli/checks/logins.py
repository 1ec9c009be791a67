"""Logins of a configured node: whether the nodes get in at each other, and what it costs."""

from collections.abc import Iterator

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import SecurityProtocol
from kafkapy.broker.config.security.listener_security import PLAIN, ListenerSecurity, outbound
from kafkapy.cli.checks.findings import Finding


def check_logins(config: BrokerConfig) -> Iterator[Finding]:
    served = {one.name for one in config.listening.all}
    for name, protocol, key in outbound(config):
        if protocol.has_sasl and name in served:
            yield from _own_login(ListenerSecurity(config, name), key, str(config.value(key)))
    for one in config.listening.broker:
        security = ListenerSecurity(config, one.name)
        if one.protocol is SecurityProtocol.SASL_PLAINTEXT and PLAIN in security.mechanisms:
            yield Finding(
                "password-in-the-clear", f"listener {one.name}",
                "PLAIN without TLS: whoever is on the way reads passwords",
                "Use SASL_SSL, or SCRAM, whose passwords do not travel.",
            )  # fmt: skip


def _own_login(security: ListenerSecurity, key: str, mechanism: str) -> Iterator[Finding]:
    """The nodes of a cluster are configured alike: one that would not let itself in would not
    be let in by the others."""
    about = f"listener {security.listener}"
    if mechanism not in security.mechanisms:
        offered = ", ".join(security.mechanisms)
        yield Finding(
            "login-not-offered", about,
            f"nodes log in by {mechanism} ({key}), and the listener offers {offered}",
            f"Add it to sasl.enabled.mechanisms of the listener, or change {key}.",
        )  # fmt: skip
        return
    if mechanism != PLAIN:
        return  # credentials of SCRAM are in the metadata log, tokens with their provider
    options = security.options(PLAIN)
    user = options.get("username", "")
    if options.get(f"user_{user}") != options.get("password"):
        yield Finding(
            "login-refused", about,
            f"nodes log in as {user}, and the listener has no such user with this password",
            f"Let {security.jaas_key(PLAIN)} have user_{user} with the password of its own login.",
        )  # fmt: skip
