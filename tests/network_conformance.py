"""What every Network promises (core/network.py), as one class of tests.

`tests/sim/cluster/test_network.py` and `tests/server/sockets/test_network.py` inherit it, each with
a bench of its own: two machines, one of which listens.
"""

from abc import abstractmethod
from collections.abc import Callable

from kafkapy.core.addresses import Address
from kafkapy.core.network import Channel, ChannelOwner, Down, Network


class Heard:
    """An owner that writes down what it hears, and may do something then."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.frames: list[bytes] = []
        self.down: Down | None = None
        self.on_each: Callable[[bytes], None] = lambda frame: None
        self.when_up: Callable[[], None] = lambda: None

    def on_up(self) -> None:
        self.events.append("up")
        self.when_up()

    def on_frame(self, frame: memoryview) -> None:
        self.events.append("frame")
        self.frames.append(bytes(frame))
        self.on_each(bytes(frame))

    def on_down(self, why: Down, reason: str) -> None:
        assert reason
        self.events.append("down")
        self.down = why


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


class Bench:
    """Two machines. `listen` gives an address; who connects there is owned by `accepted`."""

    network: Network
    listener = "PLAINTEXT"

    @abstractmethod
    def listen(self, accept: Callable[[Channel], ChannelOwner]) -> Address: ...

    @abstractmethod
    def address_where_nobody_listens(self) -> Address: ...

    @abstractmethod
    def run_until(self, condition: Callable[[], bool]) -> None:
        """Let things happen; fails if that takes too long."""

    def connect(self, address: Address, owner: ChannelOwner) -> Channel:
        return self.network.connect(address, self.listener, owner)


class Echo:
    """A server that sends every frame back; keeps its channels."""

    def __init__(self) -> None:
        self.channels: list[Channel] = []
        self.heard: list[Heard] = []

    def __call__(self, channel: Channel) -> Heard:
        heard = Heard()
        heard.on_each = lambda frame: channel.send((framed(frame),))
        self.channels.append(channel)
        self.heard.append(heard)
        return heard


class NetworkConformance:
    def test_frames_go_there_and_back_whole_and_in_order(self, bench: Bench) -> None:
        echo, client = Echo(), Heard()
        channel = bench.connect(bench.listen(echo), client)
        bench.run_until(lambda: client.events == ["up"])
        sent = [bytes([n % 251]) * size for n, size in enumerate((1, 4, 5000, 0, 300_000, 70))]
        for body in sent:
            channel.send((len(body).to_bytes(4, "big"), body[:3], memoryview(body)[3:]))
        bench.run_until(lambda: len(client.frames) == len(sent))
        assert client.frames == sent
        assert echo.heard[0].frames == sent

    def test_nobody_hears_anything_before_connect_or_send_return(self, bench: Bench) -> None:
        echo, client = Echo(), Heard()
        channel = bench.connect(bench.listen(echo), client)
        assert client.events == []
        bench.run_until(lambda: client.events == ["up"])
        channel.send((framed(b"x"),))
        assert client.frames == []
        bench.run_until(lambda: client.frames == [b"x"])

    def test_a_frame_may_be_sent_as_soon_as_the_channel_is_up(self, bench: Bench) -> None:
        client = Heard()
        channel = bench.connect(bench.listen(Echo()), client)
        client.when_up = lambda: channel.send((framed(b"first"),))
        bench.run_until(lambda: client.frames == [b"first"])

    def test_who_connects_where_nobody_listens_is_refused(self, bench: Bench) -> None:
        client = Heard()
        bench.connect(bench.address_where_nobody_listens(), client)
        bench.run_until(lambda: client.events == ["down"])
        assert client.down is Down.REFUSED

    def test_the_end_of_the_other_side_is_heard_once_and_after_its_frames(
        self, bench: Bench
    ) -> None:
        echo, client = Echo(), Heard()
        channel = bench.connect(bench.listen(echo), client)
        bench.run_until(lambda: client.events == ["up"])
        echo_says = [b"a", b"b" * 100_000]
        bench.run_until(lambda: bool(echo.channels))
        for body in echo_says:
            echo.channels[0].send((framed(body),))
        bench.run_until(lambda: len(client.frames) == 2)
        echo.channels[0].close()
        bench.run_until(lambda: client.events[-1] == "down")
        assert client.events == ["up", "frame", "frame", "down"]
        assert client.down is Down.BROKEN
        channel.close()
        assert client.events.count("down") == 1

    def test_after_close_nothing_more_is_heard(self, bench: Bench) -> None:
        echo, client = Echo(), Heard()
        channel = bench.connect(bench.listen(echo), client)
        bench.run_until(lambda: client.events == ["up"])
        channel.send((framed(b"x"),))
        channel.close()
        channel.close()
        bench.run_until(lambda: bool(echo.heard) and "down" in echo.heard[0].events)
        assert client.events == ["up"]

    def test_who_closes_before_it_is_up_hears_nothing(self, bench: Bench) -> None:
        address = bench.listen(Echo())
        given_up, other = Heard(), Heard()
        bench.connect(address, given_up).close()
        bench.connect(address, other)
        bench.run_until(lambda: other.events == ["up"])
        assert given_up.events == []
