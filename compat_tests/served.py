"""Behaviours that need an API which kafkapy may not serve yet.

Against kafkapy a test of such a behaviour is skipped with that reason, and docs/COMPAT.md
says "not done". The list empties itself: it asks broker/requests/apis.py, the table of what is
served.
"""

from collections.abc import Iterable

from kafkapy.broker.requests.apis import APIS
from kafkapy.protocol.api_keys import ApiKey

_NEEDS = {
    "acls-disabled": ApiKey.DESCRIBE_ACLS,
    "quotas": ApiKey.DESCRIBE_CLIENT_QUOTAS,
    "share-groups": ApiKey.SHARE_GROUP_HEARTBEAT,
    "streams-groups": ApiKey.STREAMS_GROUP_HEARTBEAT,
}
_SERVED = {int(api.key) for api in APIS if api.on_broker}


def is_served(api_key: int) -> bool:
    return api_key in _SERVED


def why_not_done(behaviours: Iterable[str]) -> str | None:
    """What kafkapy lacks for these behaviours, or None."""
    for behaviour in behaviours:
        needed = _NEEDS.get(behaviour)
        if needed is not None and not is_served(needed):
            return f"kafkapy does not serve {needed.camel_name} yet"
    return None
