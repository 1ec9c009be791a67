"""DeleteRecords that wait for followers: who leaves meanwhile hears nothing more."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from kafkapy.broker.handlers import delete_records
from kafkapy.broker.requests.request import Call, Later, Peer
from kafkapy.core.seams import Callback
from kafkapy.core.time import Instant
from kafkapy.sim.world.clock import SimClock


class Lagging:
    """A partition whose followers have not heard yet."""

    is_internal = False
    low_watermark = 0
    log = SimpleNamespace(
        config=SimpleNamespace(is_compacted=False, deletes_old=True), high_watermark=10
    )

    def __init__(self) -> None:
        self.start_watchers: list[Callback] = []

    def check_leader(self) -> None:
        pass

    def begin_later(self, offset: int) -> None:
        pass

    def follow(self) -> None:
        self.low_watermark = 10
        for heard in tuple(self.start_watchers):
            heard()


def _asked(node: Any, peer: Peer) -> Later:
    row = SimpleNamespace(partition_index=0, offset=5)
    body = SimpleNamespace(
        topics=[SimpleNamespace(name="t", partitions=[row])], timeout=timedelta(seconds=1)
    )
    call: Call[Any] = Call(21, 2, 1, "x", body, peer, Instant(0))
    answer = delete_records.handle(node, call)
    assert isinstance(answer, Later)
    return answer


def test_the_first_answer_may_end_the_connection_that_the_second_was_for() -> None:
    partition, peer = Lagging(), Peer("PLAINTEXT", "test")
    node = SimpleNamespace(
        authorizer=None,
        clock=SimClock(),
        partitions=SimpleNamespace(hosted=lambda *_: partition),
    )
    first, second = _asked(node, peer), _asked(node, peer)

    def end(_: Later) -> None:
        for then in peer.on_close:
            then()

    first.when_resolved(end)
    partition.follow()
    assert first.is_resolved
    assert not second.is_resolved
    assert partition.start_watchers == []
    node.clock.advance(2000)
    assert not second.is_resolved
