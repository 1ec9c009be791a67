"""What the group handlers share: ask one shard or many, and answer when all have answered."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from kafkapy.broker.requests.request import Answer, Fields, Later, Resolved
from kafkapy.coordinator.shards import Shards
from kafkapy.core.errors import Refused

GroupShards = Shards[Any, Any]


def ask(
    shards: GroupShards, group_id: str, event: Any, translate: Callable[[Any], Resolved]
) -> Answer:
    """One question to the shard of `group_id`; `translate` gets the reply or the Refused."""
    later = Later()
    shards.submit(group_id, event, lambda reply: later.resolve(translate(reply)))
    return later.answer if later.is_resolved else later


class Askable(Protocol):
    def submit(self, key: str, event: Any, then: Callable[[Any], None], /) -> None: ...


def ask_each(
    shards: Askable,
    asked: Sequence[tuple[str, Any]],
    translate: Callable[[Sequence[Any]], Fields],
) -> Answer:
    """A question for each (group id, event); `translate` gets all replies in their order. A
    Refused instead of an event is the reply: nobody is asked."""
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
        if isinstance(event, Refused):
            answered(at, event)
        else:
            shards.submit(group_id, event, partial(answered, at))
    if not asked:
        return translate(())
    return later.answer if later.is_resolved else later


def error_of(reply: Any) -> Any:
    """The code of a Refused, else 0."""
    return reply.code if isinstance(reply, Refused) else 0
