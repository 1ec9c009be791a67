"""What members of a consumer group say and hear, and what is asked about the group."""

from collections.abc import Callable
from typing import NamedTuple

from kafkapy.group.consumer.member import Target

CanDescribe = Callable[[str], bool]


def everything(topic: str) -> bool:
    return True


class ConsumerHeartbeat(NamedTuple):
    """None means unchanged. `may_describe` says which topics a regular expression of this
    member may stand for; `fresh_member_id` is for a member that brings no id (v0)."""

    group_id: str
    member_id: str
    member_epoch: int
    client_id: str
    client_host: str
    fresh_member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topics: tuple[str, ...] | None = None
    subscribed_regex: str | None = None
    server_assignor: str | None = None
    owned: Target | None = None
    may_generate_id: bool = False
    may_describe: CanDescribe = everything


class ConsumerHeartbeatHeard(NamedTuple):
    """`assignment` None means: as you know it."""

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    assignment: Target | None
