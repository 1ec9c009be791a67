"""Groups: which there are, who is in them, and how far behind they are."""

from collections import Counter
from typing import Any, Final, NamedTuple

from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.group.embedded import read_assignment
from kafkapy.http.alerting.judge import stuck_seconds
from kafkapy.http.console.asked import Asked, Pages
from kafkapy.http.console.charts import Chart, chart, count
from kafkapy.http.console.lag import Lag, ages_of, lag_of, total_lags
from kafkapy.http.console.paging import part_of
from kafkapy.http.kafka import groups, shares, streams_groups
from kafkapy.http.kafka.errors import KafkaError, check
from kafkapy.http.problems import Problem
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.protocol.api_keys import ApiKey

_ROWS: Final = 25
# A group that has members and stands for that long is worth a word.
_STANDS_MS: Final = 60_000


# Where a share group reads and has not begun.
NOWHERE: Final = shares.Place(None, None)


class Member(NamedTuple):
    id: str
    client: str
    host: str
    owned: tuple[TopicPartition, ...]


class Described(NamedTuple):
    type: str
    state: str
    assignor: str
    members: list[Member]


async def show(asked: Asked) -> Any:
    text = asked.query("q").lower()
    found = [one for one in await groups.list_groups(asked.kafka) if text in one.name.lower()]
    part = part_of(asked, found, _ROWS)
    of_shares = {one.name for one in part.rows if one.type == shares.SHARE}
    others = [one.name for one in part.rows if one.name not in of_shares]
    lags = await total_lags(asked.kafka, others, of_shares)
    return asked.page("groups.html", part=part, lags=lags, text=asked.query("q"))


async def one_group(asked: Asked) -> Any:
    name = asked.query("name")
    if await shares.is_one(asked.kafka, name):
        return await _share_group(asked, name)
    with asked.needs("DESCRIBE", "GROUP", name):
        group = await described(asked, name)
        committed = await groups.committed(asked.kafka, name)
    seen = await _visible(asked, {where.topic for one in group.members for where in one.owned})
    owners = {
        where: member for member in group.members for where in member.owned if where.topic in seen
    }
    lags = await lag_of(asked.kafka, committed, owners)
    part = part_of(asked, sorted(lags), 200)
    shown = {where: lags[where] for where in part.rows}
    ages = await ages_of(asked.kafka, shown, asked.site.link.node.clock.wall())
    asked.site.history.watch(name)
    known = [one.lag for one in lags.values() if one.lag is not None]
    return asked.page(
        "group.html",
        name=name,
        group=group,
        part=part,
        lags=lags,
        owners=owners,
        ages=ages,
        stands=_stands(asked, name, lags),
        total=sum(known),
        most=max(known, default=0),
        coordinator=await asked.kafka.coordinator(name),
        charts=await _charts(asked, name, {one.topic for one in committed}),
    )


async def _share_group(asked: Asked, name: str) -> Any:
    with asked.needs("DESCRIBE", "GROUP", name):
        group = await shares.describe(asked.kafka, name)
        places = await shares.places(asked.kafka, name)
    members = [
        Member(one.member_id, one.client_id, one.client_host, _assigned(one))
        for one in group.members
    ]
    owned = {where for one in members for where in one.owned}
    seen = await _visible(asked, {one.topic for one in owned})
    readers = Counter(where for one in members for where in one.owned)
    rows = {**{one: NOWHERE for one in owned if one.topic in seen}, **places}
    asked.site.history.watch(name)
    known = [one.lag for one in rows.values() if one.lag is not None]
    return asked.page(
        "share_group.html",
        name=name,
        state=group.group_state,
        assignor=group.assignor_name,
        members=members,
        part=part_of(asked, sorted(rows), 200),
        places=rows,
        readers=readers,
        total=sum(known),
        most=max(known, default=0),
        coordinator=await asked.kafka.coordinator(name),
        charts=await _charts(asked, name, {one.topic for one in rows}),
    )


async def _visible(asked: Asked, topics: set[str]) -> set[str]:
    return await asked.kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, sorted(topics))


def _stands(
    asked: Asked, name: str, lags: dict[TopicPartition, Lag]
) -> tuple[TopicPartition, int, int] | None:
    """Where a group with members has not got on for longest, for how many milliseconds, and at
    which offset: of groups that this node coordinates, by its last look."""
    watch, now_ms = asked.site.lag, asked.site.link.node.clock.now()
    stuck = [
        (round(stuck_seconds(one, watch.members, now_ms) * 1000), where, one.committed)
        for one in watch.of_group(name)
        if one.records and (where := TopicPartition(one.topic, one.partition)) in lags
    ]
    if not stuck or max(stuck)[0] < _STANDS_MS:
        return None
    longest, where, offset = max(stuck)
    return where, longest, offset


async def _charts(asked: Asked, name: str, topics: set[str]) -> list[Chart]:
    """For who sees all that the group reads: the line is of all of it."""
    seen = await _visible(asked, topics)
    past = asked.site.history
    values = past.of_group(name)
    if seen != topics or not values:
        return []
    return [chart("Lag", values, past.wall_ms, count)]


async def described(asked: Asked, name: str) -> Described:
    """As the new protocol's groups are, or else the old one's."""
    if not name:
        raise Problem(404, "which group? …/console/group?name=")
    body = {"group_ids": [name], "include_authorized_operations": False}
    answer = await asked.kafka.ask_coordinator(
        name, ApiKey.CONSUMER_GROUP_DESCRIBE, body, lambda one: int(one.groups[0].error_code)
    )
    row = answer.groups[0]
    if row.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return await _classic(asked, name)
    check(row.error_code, name, row.error_message)
    members = []
    for one in row.members:
        members.append(Member(one.member_id, one.client_id, one.client_host, _assigned(one)))
    return Described("consumer", row.group_state, row.assignor_name, members)


def _assigned(member: Any) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic.topic_name, partition)
        for topic in member.assignment.topic_partitions
        for partition in topic.partitions
    )


async def _classic(asked: Asked, name: str) -> Described:
    body = {"groups": [name], "include_authorized_operations": False}
    answer = await asked.kafka.ask_coordinator(
        name, ApiKey.DESCRIBE_GROUPS, body, lambda one: int(one.groups[0].error_code)
    )
    row = answer.groups[0]
    if row.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        streams = await streams_groups.describe(asked.kafka, name)
        if streams is not None:
            return Described(
                "streams", streams.state, "", [Member(*one) for one in streams.members]
            )
    check(row.error_code, name, row.error_message)
    members = [
        Member(one.member_id, one.client_id, one.client_host, _owned(one.member_assignment))
        for one in row.members
        if row.protocol_type == "consumer"
    ]
    return Described("classic", row.group_state, row.protocol_data, members)


def _owned(assignment: bytes) -> tuple[TopicPartition, ...]:
    """A member writes that itself: what cannot be read is shown as nothing."""
    try:
        found = read_assignment(assignment)
    except Corrupt:
        return ()
    return tuple(
        TopicPartition(topic.topic, partition)
        for topic in (found.assigned_partitions if found else ())
        for partition in topic.partitions
    )


async def ask_delete(asked: Asked) -> Any:
    name = asked.query("name")
    is_share = await shares.is_one(asked.kafka, name)
    return asked.page("delete_group.html", name=name, is_share=is_share)


async def delete(asked: Asked) -> Any:
    name = (await asked.fields()).get("name", "")
    with asked.needs("DELETE", "GROUP", name):
        try:
            await groups.delete(asked.kafka, name)
        except KafkaError as failed:
            if failed.code == ErrorCode.NON_EMPTY_GROUP:
                raise Problem(409, f"{name} has members: stop them first") from None
            raise
    return asked.go("/console/groups", done="group-deleted")


PAGES: Pages = (
    ("GET", "/console/groups", show),
    ("GET", "/console/group", one_group),
    ("GET", "/console/group/delete", ask_delete),
    ("POST", "/console/group/delete", delete),
)
