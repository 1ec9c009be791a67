"""All of the broker's keys in one table."""

from typing import Any

from kafkapy.broker.config.altering.synonyms import base_name
from kafkapy.broker.config.table.key import Key
from kafkapy.broker.config.table.keys.groups import GroupKeys
from kafkapy.broker.config.table.keys.hooks import HookKeys
from kafkapy.broker.config.table.keys.http import HttpKeys
from kafkapy.broker.config.table.keys.log import LogKeys
from kafkapy.broker.config.table.keys.network import NetworkKeys
from kafkapy.broker.config.table.keys.node import NodeKeys
from kafkapy.broker.config.table.keys.queues import QueueKeys
from kafkapy.broker.config.table.keys.quorum import QuorumKeys
from kafkapy.broker.config.table.keys.registry import RegistryKeys
from kafkapy.broker.config.table.keys.remote import RemoteKeys
from kafkapy.broker.config.table.keys.replication import ReplicationKeys
from kafkapy.broker.config.table.keys.sasl import SaslKeys
from kafkapy.broker.config.table.keys.security import SecurityKeys
from kafkapy.broker.config.table.keys.share import DeadLetterKeys, ShareKeys
from kafkapy.broker.config.table.keys.tls import TlsKeys
from kafkapy.broker.config.table.keys.transactions import TransactionKeys
from kafkapy.broker.config.table.keys.views import ViewsKeys

# Prefixes of keys that belong to plug-ins: nobody here knows what may follow them.
_FOREIGN = ("rsm.config.", "rlmm.config.", "config.providers.")

# The authorizer's own (security/authorizer/configured.py).
SUPER_USERS = "super.users"
ALLOW_WITHOUT_ACL = "allow.everyone.if.no.acl.found"

# Keys that Apache Kafka 4.3.1 does not have: described only where they are set.
OWN = frozenset(
    {
        **DeadLetterKeys.table,
        **HookKeys.table,
        **HttpKeys.table,
        **QueueKeys.table,
        **RegistryKeys.table,
        **ViewsKeys.table,
    }
)


class BrokerKeys(
    NodeKeys,
    NetworkKeys,
    QuorumKeys,
    ReplicationKeys,
    LogKeys,
    GroupKeys,
    DeadLetterKeys,
    ShareKeys,
    TransactionKeys,
    SecurityKeys,
    TlsKeys,
    SaslKeys,
    RemoteKeys,
    HttpKeys,
    QueueKeys,
    RegistryKeys,
    ViewsKeys,
    HookKeys,
):
    """`table` has them by Kafka's name."""


def key_of(name: str) -> Key[Any] | None:
    """The row that `name`, perhaps with a listener's prefix, falls under."""
    return BrokerKeys.table.get(base_name(name))


def is_known(name: str) -> bool:
    return (
        key_of(name) is not None
        or name.startswith(_FOREIGN)
        or name in (SUPER_USERS, ALLOW_WITHOUT_ACL)
    )
