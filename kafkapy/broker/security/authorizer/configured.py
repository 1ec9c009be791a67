"""The authorizer that a node's settings ask for.

`super.users` and `allow.everyone.if.no.acl.found` are the authorizer's own settings, not the
broker's: Apache Kafka has no row for them either, and DescribeConfigs does not tell them.
"""

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.broker_keys import ALLOW_WITHOUT_ACL, SUPER_USERS
from kafkapy.broker.config.table.refusals import STANDARD_AUTHORIZER
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.hooks.of_node import NodeHooks
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.core.seams import Clock, Journal
from kafkapy.hooks.api import AuthorizeHook


def configured_authorizer(
    config: BrokerConfig, journal: Journal, hooks: NodeHooks, clock: Clock
) -> Authorizer | None:
    """None: nobody is asked for anything. Another class than Kafka's is refused at the start."""
    if config.authorizer_class_name != STANDARD_AUTHORIZER:
        return None
    given = config.static
    super_users = _principals(given.get(SUPER_USERS, ""))
    allows_without_acl = given.get(ALLOW_WITHOUT_ACL, "").strip().lower() == "true"
    name = config.kafkapy_hook_authorize
    if not name:
        return Authorizer(super_users, allows_without_acl=allows_without_acl, journal=journal)
    from kafkapy.broker.hooks.authorize import HookedAuthorizer

    return HookedAuthorizer(
        super_users,
        allows_without_acl=allows_without_acl,
        journal=journal,
        hook=hooks.get("kafkapy.hook.authorize", name, AuthorizeHook, "allows"),
        clock=clock,
        cache_ms=config.kafkapy_hook_authorize_cache_ms,
    )


def _principals(text: str) -> list[str]:
    """Of `User:a;User:b`."""
    found = [one.strip() for one in text.split(";") if one.strip()]
    for one in found:
        if ":" not in one:
            raise ConfigError(
                SUPER_USERS, text, f"{one} is no principal: it needs a type, as User:"
            )
    return found
