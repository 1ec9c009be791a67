"""The tombstones that make a group gone."""

from kafkapy.group.classic.group import ClassicGroup
from kafkapy.group.classic.stored import group_tombstone
from kafkapy.group.consumer.group import ConsumerGroup
from kafkapy.group.consumer.stored import group_tombstones
from kafkapy.group.records import Pair
from kafkapy.group.state import Group


def group_tombstones_of(group: Group) -> list[Pair]:
    match group:
        case ClassicGroup():
            return [group_tombstone(group.group_id)]
        case ConsumerGroup():
            return group_tombstones(group.group_id, group.profiles, group.regexes)
        case _:
            return group.tombstones()
