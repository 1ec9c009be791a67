"""A member of a consumer group, with a coordinator that the test plays."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import trio
from trio.testing import MockClock

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.records import START
from kafkapy.http.rest.push.members import Member

ID = UUID(int=7)
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class Coordinator:
    """Tells an assignment once, as the real one does."""

    def __init__(self) -> None:
        self.image = SimpleNamespace(topics_by_name={"t": SimpleNamespace(id=ID)})
        self.assigned: Any = None

    def topic(self, name: str) -> Any:
        return self.image.topics_by_name[name]

    def assign(self, *partitions: int) -> None:
        topic = SimpleNamespace(topic_id=ID, partitions=partitions)
        self.assigned = SimpleNamespace(topic_partitions=(topic,))

    async def ask_coordinator(self, *_: Any) -> Any:
        await trio.lowlevel.checkpoint()
        assignment, self.assigned = self.assigned, None
        return SimpleNamespace(
            error_code=0,
            error_message=None,
            member_epoch=1,
            heartbeat_interval=timedelta(seconds=5),
            assignment=assignment,
        )


async def _refuse(*_: Any) -> Any:
    raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "group")


async def _wait(*_: Any) -> Any:
    await trio.sleep_forever()


async def _know(*_: Any) -> Any:
    await trio.lowlevel.checkpoint()
    return {FIRST: 3, SECOND: 4}


@pytest.mark.parametrize("trouble", [_refuse, _wait], ids=["refused", "given up"])
def test_an_assignment_is_taken_over_although_it_did_not_work_at_first(
    monkeypatch: pytest.MonkeyPatch, trouble: Any
) -> None:
    """Where its group is in them could not be found out, or whoever polled had no more time. The
    coordinator says what a member was given once; nobody else reads it."""
    kafka: Any = Coordinator()
    kafka.assign(0, 1)

    async def main() -> None:
        member = Member(kafka, "group", ["t"], "member", START)
        monkeypatch.setattr(groups, "committed", trouble)
        with trio.move_on_after(1):
            with pytest.raises(KafkaError):
                await member.keep()
        assert member.positions == {}
        monkeypatch.setattr(groups, "committed", _know)
        assert await member.keep()
        assert member.positions == {FIRST: 3, SECOND: 4}

    trio.run(main, clock=MockClock(autojump_threshold=0))
