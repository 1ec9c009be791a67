"""THE table: every API that is served, its versions, where, and what it asks for.

ApiVersions, dispatch, the authorizer, docs/COMPAT.md and metric names are made from it,
so nothing can be advertised that is not served. Versions are those of Apache Kafka 4.3.1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkapy.broker import handlers
from kafkapy.broker.call import Answer, Call
from kafkapy.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkapy.broker.node import Node

Handle = Callable[["Node", Call], Answer]


@dataclass(frozen=True, slots=True)
class Api:
    key: ApiKey
    min_version: int
    max_version: int
    handle: Handle
    permission: str
    on_broker: bool = True
    on_controller: bool = False
    # What ApiVersions says the minimum is, where it is not the truth (KAFKA-18659).
    advertised_min_version: int | None = None


def _row(key: ApiKey, versions: tuple[int, int], module: Any, permission: str, **where: Any) -> Api:
    return Api(key, versions[0], versions[1], module.handle, permission, **where)


_BOTH = {"on_controller": True}
_CONTROLLER = {"on_broker": False, "on_controller": True}
_CLUSTER_ALTER = "ALTER on Cluster"
_CLUSTER_ACTION = "CLUSTER_ACTION on Cluster"

K = ApiKey
APIS: tuple[Api, ...] = (_row(K.API_VERSIONS, (0, 4), handlers.api_versions, "none", **_BOTH),)

_ON_BROKER = {int(api.key): api for api in APIS if api.on_broker}
_ON_CONTROLLER = {int(api.key): api for api in APIS if api.on_controller}


def find_api(api_key: int, *, is_controller: bool) -> Api | None:
    return (_ON_CONTROLLER if is_controller else _ON_BROKER).get(api_key)


def apis_on(*, is_controller: bool) -> tuple[Api, ...]:
    """In order of their keys."""
    table = _ON_CONTROLLER if is_controller else _ON_BROKER
    return tuple(table[key] for key in sorted(table))
