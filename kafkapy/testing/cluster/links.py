"""The network between the nodes of a test's cluster: real sockets that can be cut.

    node --> CutNetwork --> SocketNetwork --> another node

Every connection between two nodes is made by one of them, and both directions of it pass that
one's CutNetwork: in a cut, what is sent is kept, what arrives is kept, and who connects waits,
as packets would be sent again until the cable is back. `heal` lets it all through, in order.
Each direction has a cut of its own, and who connects needs both. Clients are not nodes: they reach
everybody.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from kafkapy.core.addresses import Address
from kafkapy.core.network import Channel, ChannelOwner, Down, Network
from kafkapy.core.seams import Bytes, Callback


class Links:
    """Which nodes reach one another. Asked and changed from any thread."""

    def __init__(self, node_of_port: dict[int, int]) -> None:
        self._node_of_port = node_of_port
        self._cuts: frozenset[tuple[int, int]] = frozenset()

    def node_at(self, address: Address) -> int | None:
        return self._node_of_port.get(address.port)

    def is_cut(self, source: int, target: int) -> bool:
        return (source, target) in self._cuts

    def cut(self, source: int, target: int) -> None:
        """One way."""
        self._cuts |= {(source, target)}

    def heal(self) -> None:
        self._cuts = frozenset()


class CutNetwork:
    """Of one life of a node, on its loop. `look` after the links have healed."""

    def __init__(self, links: Links, node_id: int, network: Network) -> None:
        self._links = links
        self._node_id = node_id
        self._network = network
        self._channels: set[CutChannel] = set()

    def connect(self, address: Address, listener: str, owner: ChannelOwner) -> Channel:
        to = self._links.node_at(address)
        connect = partial(self._network.connect, address, listener)
        if to is None:
            return connect(owner)
        channel = CutChannel(
            owner,
            _Path(partial(self._links.is_cut, self._node_id, to)),
            _Path(partial(self._links.is_cut, to, self._node_id)),
            self._channels.discard,
        )
        self._channels.add(channel)
        channel.begin(connect)
        return channel

    def look(self) -> None:
        for channel in list(self._channels):
            channel.let_through()


class _Path:
    """One direction: open, or what waits for it in order."""

    def __init__(self, is_cut: Callable[[], bool]) -> None:
        self._is_cut = is_cut
        self._held: deque[Callback] = deque()

    @property
    def is_open(self) -> bool:
        return not self._held and not self._is_cut()

    def take(self, then: Callback) -> None:
        if self.is_open:
            then()
        else:
            self._held.append(then)

    def let_through(self) -> None:
        while self._held and not self._is_cut():
            self._held.popleft()()

    def clear(self) -> None:
        self._held.clear()


class CutChannel:
    """Between a node and its channel: `there` is the way to the other node, `back` from it."""

    def __init__(
        self,
        owner: ChannelOwner,
        there: _Path,
        back: _Path,
        forget: "Callable[[CutChannel], None]",
    ) -> None:
        self._owner = owner
        self._there = there
        self._back = back
        self._forget = forget
        self._channel: Channel | None = None
        self._is_open = True
        self._is_up = False

    def begin(self, connect: Callable[[ChannelOwner], Channel]) -> None:
        def now() -> None:
            self._channel = connect(self)

        self._there.take(lambda: self._back.take(now))

    def let_through(self) -> None:
        self._there.let_through()
        self._back.let_through()

    # The node's side.

    def send(self, parts: Sequence[Bytes]) -> None:
        whole = b"".join(parts)
        self._there.take(lambda: self._send(whole))

    def _send(self, whole: bytes) -> None:
        if self._is_up and self._channel is not None:
            self._channel.send((whole,))

    def close(self) -> None:
        self._is_open = self._is_up = False
        self._there.clear()
        self._back.clear()
        self._forget(self)
        if self._channel is not None:
            self._channel.close()

    # The network's side.

    def on_up(self) -> None:
        self._is_up = True
        self._back.take(self._owner.on_up)

    def on_frame(self, frame: memoryview) -> None:
        if self._back.is_open:
            self._owner.on_frame(frame)
        else:
            kept = memoryview(bytes(frame))
            self._back.take(lambda: self._owner.on_frame(kept))

    def on_down(self, why: Down, reason: str) -> None:
        self._is_up = False
        self._back.take(lambda: self._down(why, reason))

    def _down(self, why: Down, reason: str) -> None:
        if self._is_open:
            self._is_open = False
            self._forget(self)
            self._owner.on_down(why, reason)
