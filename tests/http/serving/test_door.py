"""Who may connect over HTTP: the bounds of Kafka's listeners are bounds of both together."""

import socket
from collections.abc import Awaitable, Callable
from typing import Any, cast
from urllib.parse import urlsplit

import trio
import trio.testing

from kafkapy.broker.quotas.limits import Limits
from kafkapy.core.errors import ErrorCode
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.kafka.link import NodeLink
from kafkapy.http.serving.door import at_the_door
from kafkapy.testing import Broker
from tests.broker.quotas.test_door import HERE, THERE, Guarded
from tests.broker.quotas.test_on_sockets import Wire
from tests.http.pages import HTTP, logged
from tests.kraft.controller.access.test_client_quotas import entity


class Linked(Guarded):
    """A link to a loop that is this one, and does what it is told once the test says so."""

    def __init__(self, limits: Limits | None = None, **settings: str) -> None:
        super().__init__(limits, **settings)
        self.waiting: list[Callable[[], Any]] = []
        self.is_slow = self.is_gone = False

    @property
    def node(self) -> "Linked":
        return self

    async def call(self, work: Callable[[], Any]) -> Any:
        if self.is_gone:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "this node stops")
        if self.is_slow:
            self.waiting.append(work)
            await trio.sleep_forever()
        return work()

    def soon(self, work: Callable[[], None]) -> None:
        if self.is_slow:
            self.waiting.append(work)
        else:
            work()

    def inside(self, host: str = HERE) -> Any:
        return at_the_door(cast(NodeLink, self), host)


def in_trio(work: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await work()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_an_address_holds_so_many_until_one_leaves() -> None:
    async def work() -> None:
        linked = Linked(max_connections_per_ip="1")
        async with linked.inside() as first:
            assert first is None
            async with linked.inside() as second, linked.inside(THERE) as other:
                assert second is not None
                assert "max.connections.per.ip" in second.reason
                assert other is None
        async with linked.inside() as again:
            assert again is None
        assert linked.came() is None, "and nobody is counted twice"

    in_trio(work)


def test_an_address_that_connects_too_often_is_told_how_long_to_wait() -> None:
    async def work() -> None:
        linked = Linked(Limits({entity(ip=HERE): {"connection_creation_rate": 2}}))
        for _ in range(20):
            async with linked.inside() as may:
                assert may is None
        async with linked.inside() as away:
            assert away is not None
            assert away.wait_ms > 0

    in_trio(work)


def test_too_many_in_a_second_wait_and_are_let_in() -> None:
    async def work() -> None:
        linked = Linked(max_connection_creation_rate="10")
        for _ in range(101):
            linked.came()
        assert linked.door.wait_ms("HTTP") > 0
        before = trio.current_time()
        async with trio.open_nursery() as nursery:

            async def one() -> None:
                async with linked.inside() as may:
                    assert may is None
                    nursery.cancel_scope.cancel()

            nursery.start_soon(one)
            while True:  # the node's clock goes on, too; neither is the machine's
                await trio.sleep(0.1)
                linked.clock.advance(100)
        assert trio.current_time() > before

    in_trio(work)


def test_a_loop_that_does_not_answer_keeps_nobody_out() -> None:
    """He is counted when it does, and is not any more when he has left in between."""

    async def work() -> None:
        linked = Linked(max_connections_per_ip="1")
        linked.is_slow = True
        async with linked.inside() as may:
            assert may is None
        for one in linked.waiting:
            one()
        linked.is_slow = False
        async with linked.inside() as may:
            assert may is None
            linked.is_gone = True
            async with linked.inside(THERE) as other:
                assert other is None

    in_trio(work)


def connected(broker: Broker) -> socket.socket:
    where = urlsplit(broker.http)
    return socket.create_connection((where.hostname, where.port), 30)


def asks(line: socket.socket) -> bytes:
    """The first bytes of its answer; none if it is closed."""
    try:
        line.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
        return line.recv(12)
    except ConnectionError:
        return b""


def test_one_connection_too_many_of_an_address_is_closed() -> None:
    with Broker({**HTTP, "max.connections.per.ip": "2"}) as broker:
        with Wire(broker) as kafkas, connected(broker) as first:
            kafkas.greet()
            assert kafkas.hear()
            assert asks(first) == b"HTTP/1.1 200"
            with connected(broker) as second:
                assert asks(second) == b""
            [told] = logged(broker, "connection refused")
            assert told["peer"] == "127.0.0.1"
            assert "max.connections.per.ip" in told["reason"]
        while True:  # the node hears that they have hung up
            with connected(broker) as next_one:
                if asks(next_one) == b"HTTP/1.1 200":
                    break
