"""A plan is carried out: replicas are moved, watched, and their leaders elected.

    limit  -->  ask the controller, some hundreds a request  -->  watch  -->  elect  -->  lift

The controller moves all it was asked for by itself. Whoever asked may go away: the moves go on,
and so do the limits, until `verify` or `cancel` lifts them.
"""

import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from kafkapy.cli.client import Client, check, check_all
from kafkapy.cli.cluster.layout import Layout, read_brokers, read_moving, read_sizes
from kafkapy.cli.cluster.plan import Placement, Where
from kafkapy.cli.cluster.throttle import lift, limit
from kafkapy.cli.main import Failed
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey

_IN_ONE_REQUEST: Final = 500
_TIMEOUT_MS: Final = 60_000
_LOOK_SECONDS: Final = 0.2
_TELL_SECONDS: Final = 2.0
_PREFERRED: Final = 0
_NOTHING_TO_DO: Final = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
# Its first replica may be away or behind: somebody else leads, as before.
_LATER: Final = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


class Change(NamedTuple):
    where: Where
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def adds(self) -> list[int]:
        return [one for one in self.after if one not in self.before]

    @property
    def removes(self) -> list[int]:
        return [one for one in self.before if one not in self.after]


def changes(before: Placement, after: Placement) -> list[Change]:
    """What a plan does to what there is; Failed if it is about something else."""
    for topic, index in after:
        if (topic, index) not in before:
            raise Failed(f"the plan has {topic}-{index}, which is not there")
    return [
        Change(where, before[where], after[where])
        for where in sorted(after)
        if after[where] != before[where]
    ]


def carry_out(
    client: Client,
    layout: Layout,
    wanted: Sequence[Change],
    *,
    rate: int | None = None,
    tell: Callable[[str], None],
    waits: bool = True,
) -> None:
    """`rate`: bytes a second for each broker. Without `waits` only started."""
    after = {one.where: one.after for one in wanted}
    if rate is not None:
        limit(client, layout.placement, after, layout.brokers.values(), rate)
    for some in _slices(wanted):
        _ask(client, {one.where: one.after for one in some})
    if waits:
        _watch(client, layout, wanted, tell)
        finish(client, after, lifts=rate is not None)


def finish(client: Client, after: Placement, *, lifts: bool) -> None:
    """All is where it should be: the first replicas lead, and no limit stays."""
    elect(client, after)
    if lifts:
        topics = {topic for topic, _ in after}
        lift(client, read_brokers(client).values(), topics)


def cancel(client: Client, wanted: Collection[Where]) -> None:
    """Replicas stay as they were. What has arrived by now is not undone."""
    for some in _slices(sorted(wanted)):
        _ask(client, dict.fromkeys(some), passing=ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    lift(client, read_brokers(client).values(), {topic for topic, _ in wanted})


def elect(client: Client, wanted: Collection[Where]) -> None:
    for some in _slices(sorted(wanted)):
        topics = [{"topic": name, "partitions": rows} for name, rows in _by_topic(some).items()]
        answer = client.ask(
            ApiKey.ELECT_LEADERS,
            {"election_type": _PREFERRED, "topic_partitions": topics, "timeout": _TIMEOUT_MS},
        )
        check(answer.error_code, "the election of preferred leaders")
        check_all(
            (one.error_code, f"{result.topic}-{one.partition_id}", one.error_message)
            for result in answer.replica_election_results
            for one in result.partition_result
            if one.error_code not in (*_NOTHING_TO_DO, _LATER)
        )


def behind(client: Client, wanted: Placement) -> list[Where]:
    """What is not where it should be, or not in sync yet."""
    moving = read_moving(client)
    found = client.metadata(sorted({topic for topic, _ in wanted}))
    there = {
        (str(topic.name), int(one.partition_index)): (
            tuple(map(int, one.replica_nodes)),
            set(map(int, one.isr_nodes)),
        )
        for topic in found.topics
        for one in topic.partitions
    }
    return [
        where
        for where, replicas in sorted(wanted.items())
        if where in moving
        or there.get(where, ((), set()))[0] != replicas
        or not there[where][1].issuperset(replicas)
    ]


def _ask(
    client: Client,
    wanted: "dict[Where, tuple[int, ...]] | dict[Where, Any]",
    passing: ErrorCode = ErrorCode.NONE,
) -> None:
    topics: dict[str, list[dict[str, Any]]] = {}
    for (topic, index), replicas in wanted.items():
        row = {"partition_index": index, "replicas": replicas}
        topics.setdefault(topic, []).append(row)
    answer = client.ask(
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        {
            "timeout": _TIMEOUT_MS,
            "allow_replication_factor_change": True,
            "topics": [{"name": name, "partitions": rows} for name, rows in topics.items()],
        },
    )
    check(answer.error_code, "the plan", answer.error_message)
    check_all(
        (one.error_code, f"{topic.name}-{one.partition_index}", one.error_message)
        for topic in answer.responses
        for one in topic.partitions
        if one.error_code != passing
    )


def _watch(
    client: Client, layout: Layout, wanted: Sequence[Change], tell: Callable[[str], None]
) -> None:
    """Until nothing of it moves any more."""
    total = sum(layout.size(one.where) * len(one.adds) for one in wanted)
    began = time.monotonic()
    told_at = began if sys.stderr.isatty() else began + _TELL_SECONDS
    while left := read_moving(client).keys() & {one.where for one in wanted}:
        if time.monotonic() >= told_at:
            fetched = _fetched(layout, wanted)
            tell(
                f"{len(wanted) - len(left)} of {len(wanted)} partitions, "
                f"{size(min(fetched, total))} of about {size(total)}, "
                f"{time.monotonic() - began:.0f} s"
            )
            told_at = time.monotonic() + _TELL_SECONDS
        time.sleep(_LOOK_SECONDS)


def _fetched(layout: Layout, wanted: Sequence[Change]) -> int:
    """Bytes that new replicas have by now."""
    new = {(one.where, broker) for one in wanted for broker in one.adds}
    receivers = [layout.brokers[one] for one in sorted({broker for _, broker in new})]
    found = read_sizes(receivers, {where for where, _ in new})
    return sum(found.get(one, 0) for one in new)


def size(count: int) -> str:
    """Bytes, as people say them."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def _slices(wanted: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for at in range(0, len(wanted), _IN_ONE_REQUEST):
        yield wanted[at : at + _IN_ONE_REQUEST]


def _by_topic(wanted: Collection[Where]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, index in wanted:
        topics.setdefault(topic, []).append(index)
    return topics
