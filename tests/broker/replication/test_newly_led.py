"""A new leader does not wait for the end of fetches that its followers have parked."""

from uuid import UUID

from kafkapy.broker.replication.newly_led import NewlyLed
from kafkapy.core.ids import TopicPartition
from kafkapy.kraft.image.topics import PartitionState
from tests.broker.partitions.in_memory import open_partition
from tests.coordinator.fakes import FakeClock

DIRECTORIES = (UUID(int=1),) * 3


def test_followers_are_hurried_until_each_has_asked_or_a_moment_has_passed() -> None:
    clock, hurried = FakeClock(), list[set[int]]()
    newly_led = NewlyLed(clock, hurried.append)
    partition = open_partition(TopicPartition("t", 0), clock=clock)
    partition.follow_metadata(PartitionState((1, 2, 3), (1, 2, 3), 1, 2, 2, DIRECTORIES))
    newly_led.add(partition)
    clock.advance(2)
    assert hurried == [{2, 3}]
    partition.follower_fetched(2, 0, 0, 5, clock.now())
    clock.advance(5)
    assert hurried[1:] == [{3}]
    partition.follower_fetched(3, 0, 0, 5, clock.now())
    clock.advance(1000)
    assert hurried[2:] == []


def test_who_is_not_there_is_not_hurried_for_ever() -> None:
    clock, hurried = FakeClock(), list[set[int]]()
    newly_led = NewlyLed(clock, hurried.append)
    partition = open_partition(TopicPartition("t", 0), clock=clock)
    partition.follow_metadata(PartitionState((1, 2, 3), (1, 2), 1, 2, 2, DIRECTORIES))
    newly_led.add(partition)
    clock.advance(10_000)
    assert set(map(frozenset, hurried)) == {frozenset({2})}  # 3 is not in sync: nobody waits
    assert len(hurried) < 10
