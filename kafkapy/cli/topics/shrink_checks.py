"""What `kafkapy topics shrink` makes sure of before it deletes: that all is in the smaller topic,
and that no share group still works at the old one.

Beside its own place a relay writes, in the same transactions (kafkapy/relays/progress.py), to which
topic it moved records, from which offset on, under which condition.
"""

from typing import Any, Final
from uuid import UUID

from kafkapy.cli.client import Client, check
from kafkapy.cli.finding import GROUP, coordinator, each_broker
from kafkapy.cli.main import Failed
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.relays.progress import Progress, from_text

# As the broker calls them; it is not imported for that.
GROUP_PREFIX: Final = "kafkapy-relay."
RELAY_TO: Final = "kafkapy.relay.to"
_RELAY_SETTINGS: Final = ("kafkapy.relay.", "kafkapy.hook.relay")


def relay_places(client: Client, server: str, old: str, new: str) -> dict[int, Progress]:
    """How far the relay from the one to the other is, by partitions; another target's place, or one
    of a topic that had the name before, is none."""
    group = f"{GROUP_PREFIX}{old}"
    body = {"groups": [{"group_id": group, "topics": None}], "require_stable": False}
    with coordinator(server, GROUP, group) as asked:
        answer = asked.ask(ApiKey.OFFSET_FETCH, body).groups[0]
    check(answer.error_code, f"group {group}")
    mark, target = f"{_id_of(client, old).hex} ", _id_of(client, new).hex
    found = {}
    for topic in answer.topics:
        for one in topic.partitions if topic.name == old else ():
            text = one.metadata or ""
            place = from_text(text.removeprefix(mark)) if text.startswith(mark) else None
            if place is not None and place.target == target:
                found[one.partition_index] = place
    return found


def left_to_move(
    places: dict[int, Progress], starts: dict[int, int], ends: dict[int, int]
) -> dict[int, int]:
    """Offsets that the relay has not moved. What it looked at is in the smaller one, unless it
    waits: its place and what it moves are one transaction."""
    left = {}
    for index, end in ends.items():
        place = places.get(index)
        left[index] = max(end - (starts[index] if place is None else place.lowest), 0)
    return left


def check_whole(
    old: str, settings: dict[str, str], places: dict[int, Progress], starts: dict[int, int]
) -> None:
    """Everything that is in the old one was moved, as far as the relay has come."""
    for name, value in settings.items():
        if value and name != RELAY_TO and name.startswith(_RELAY_SETTINGS):
            raise Failed(f"{old} has {name}: so not every record is moved as it is")
    for index, place in sorted(places.items()):
        if place.first > starts[index]:
            raise Failed(
                f"the relay of {old}-{index} began at offset {place.first}, and the log begins at "
                f"{starts[index]}: what is before was not moved"
            )
        if any(one.timing.where for one in place.ruled):
            raise Failed(f"{old} had kafkapy.relay.where: not every record was moved")


def share_groups(server: str, topic: str) -> dict[str, dict[tuple[str, int], int]]:
    """Those that work at it, and where they begin in each partition; -1: nowhere yet."""
    found = {}
    for _, broker in each_broker(server):
        listed = broker.ask(ApiKey.LIST_GROUPS, {"states_filter": [], "types_filter": []})
        check(listed.error_code, "listing groups")
        for group in listed.groups:
            if group.group_type == "share":
                places = _share_places(broker, group.group_id, topic)
                if places:
                    found[group.group_id] = places
    return found


def _share_places(broker: Client, group: str, topic: str) -> dict[tuple[str, int], int]:
    body = {"groups": [{"group_id": group, "topics": None}]}
    (described,) = broker.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, body).groups
    if described.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return {}  # deleted meanwhile
    check(described.error_code, f"group {group}", described.error_message)
    rows: list[Any] = [one for one in described.topics if one.topic_name == topic]
    for row in rows:
        for one in row.partitions:
            check(one.error_code, f"group {group}: {topic}-{one.partition_index}")
    return {
        (topic, one.partition_index): one.start_offset for row in rows for one in row.partitions
    }


def _id_of(client: Client, topic: str) -> UUID:
    (row,) = client.metadata([topic]).topics
    check(row.error_code, f"topic {topic}")
    return UUID(bytes=bytes(row.topic_id)) if isinstance(row.topic_id, bytes) else row.topic_id
