"""Whose bytes count against a throttle, and when they wait (KIP-73)."""

from kafkapy.broker.replication.throttle import LEADER, ReplicationThrottle
from kafkapy.core.byte_rate import NO_LIMIT
from kafkapy.core.ids import TopicPartition
from kafkapy.sim.world.clock import SimClock

NODE = 2


class Kit:
    def __init__(self, **replicas: str) -> None:
        """Topics, and what their setting says."""
        self.clock = SimClock()
        self.limit = 1000
        self.throttle = ReplicationThrottle(
            NODE,
            self.clock,
            LEADER,
            lambda: self.limit,
            lambda topic: {LEADER: replicas[topic]} if topic in replicas else {},
        )

    def held(self, topic: str) -> list[int]:
        return [one for one in range(4) if self.throttle.holds(TopicPartition(topic, one))]


def test_the_replicas_that_a_topic_names_on_this_broker() -> None:
    kit = Kit(some="0:1,1:2,2:3,3:2", all="*", none="")
    assert kit.held("some") == [1, 3]
    assert kit.held("all") == [0, 1, 2, 3]
    assert kit.held("none") == []
    assert kit.held("other") == []


def test_without_a_rate_nothing_is_held() -> None:
    kit = Kit(all="*")
    kit.limit = NO_LIMIT
    assert kit.held("all") == []


def test_the_rate_may_change_at_any_time() -> None:
    kit = Kit(all="*")
    kit.throttle.record(5000)
    assert kit.throttle.wait_ms() == 5000
    kit.limit = 5000
    assert not kit.throttle.is_exceeded
    kit.limit = 2500
    kit.clock.advance(2000)
    assert not kit.throttle.is_exceeded
