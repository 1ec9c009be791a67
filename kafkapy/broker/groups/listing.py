"""Groups of every shard, some hundreds at a time: a node may coordinate a hundred thousand.

    for each shard: some groups ──> page ──> some more ──> page ...   then: that was all

Groups that come or go meanwhile may be in it or not; those that stay are in it once.
"""

from collections.abc import Callable
from typing import Any, Final

from kafkapy.coordinator.shards import Shards
from kafkapy.core.errors import Refused
from kafkapy.core.jobs import WAITING, Job, Steps
from kafkapy.core.seams import Callback, Clock
from kafkapy.group.admin import GroupsListed, ListGroups

# Asking a shard; a group that is looked at, and one that is listed: what is done with it, too.
_SHARD_COST_US: Final = 10
_LOOK_COST_US: Final = 1
_LISTED_COST_US: Final = 4

Page = Callable[["GroupsListed | Refused"], None]


def list_groups(
    clock: Clock, shards: Shards[Any, Any], event: ListGroups, page: Page, then: Callback
) -> None:
    """Of all shards this node leads; of loading ones, and of those that it leads no more when
    their turn comes, `page` gets the refusal."""
    replies: list[GroupsListed | Refused] = []

    def answered(reply: GroupsListed | Refused) -> None:
        replies.append(reply)
        job.resume()

    def steps() -> Steps:
        for shard in list(shards.shards.values()):
            asked: ListGroups | None = event
            while asked is not None:
                shard.submit(asked, answered)
                yield WAITING
                reply = replies.pop()
                page(reply)
                if isinstance(reply, Refused):
                    asked = None
                    yield _SHARD_COST_US
                else:
                    asked = reply.go_on
                    yield (
                        _SHARD_COST_US
                        + _LOOK_COST_US * reply.looked_at
                        + _LISTED_COST_US * len(reply.groups)
                    )
        then()

    job = Job(clock, steps())
    job.start()
