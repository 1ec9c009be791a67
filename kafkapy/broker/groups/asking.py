"""What the group handlers share: ask one shard or many, and answer when all have answered."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kafkapy.broker.requests.request import Answer, Fields, Later, Resolved
from kafkapy.coordinator.coordinator import Coordinator
from kafkapy.core.errors import Refused

Groups = Coordinator[Any, Any]


def ask(groups: Groups, group_id: str, event: Any, translate: Callable[[Any], Resolved]) -> Answer:
    """One question to the shard of `group_id`; `translate` gets the reply or the Refused."""
    later = Later()
    groups.submit(group_id, event, lambda reply: later.resolve(translate(reply)))
    return later.answer if later.is_resolved else later


def ask_each(
    groups: Groups,
    asked: Sequence[tuple[str, Any]],
    translate: Callable[[Sequence[Any]], Fields],
) -> Answer:
    """A question for each (group id, event); `translate` gets all replies in their order."""
    later = Later()
    replies: list[Any] = [None] * len(asked)
    left = len(asked)

    def answered(at: int, reply: Any) -> None:
        nonlocal left
        replies[at] = reply
        left -= 1
        if left == 0:
            later.resolve(translate(replies))

    for at, (group_id, event) in enumerate(asked):
        groups.submit(group_id, event, partial(answered, at))
    if not asked:
        return translate(())
    return later.answer if later.is_resolved else later


def ask_all_shards(
    groups: Groups, event: Any, translate: Callable[[Sequence[Any]], Fields]
) -> Answer:
    """A question to every shard this node leads, loading ones included (they refuse)."""
    later = Later()
    shards = list(groups.shards.values())
    replies: list[Any] = []

    def answered(reply: Any) -> None:
        replies.append(reply)
        if len(replies) == len(shards):
            later.resolve(translate(replies))

    for shard in shards:
        shard.submit(event, answered)
    if not shards:
        return translate(())
    return later.answer if later.is_resolved else later


def error_of(reply: Any) -> Any:
    """The code of a Refused, else 0."""
    return reply.code if isinstance(reply, Refused) else 0
