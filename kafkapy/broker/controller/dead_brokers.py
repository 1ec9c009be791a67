"""Brokers whose process is dead are fenced at once, instead of when their session ends.

    a broker's heartbeat connection breaks --+
    a node's controller port refuses --------+--> probe: connect to its listeners
    the connection to a controller broke,    |        all refuse  --> BrokerDied
    and we are the next -----------------+---+        one accepts --> again in a moment, a few times
    a new controller hears nothing of it ----+        no answer   --> see below

Who does not answer may be paused, cut off or without power, and keeps its session: nobody has said
anything of it. But whose connection ended has said something: its process closed it, or died. If
then nothing answers where it listens, for as long as it takes to be sure, its machine is gone with
it, as a container's is. Why this is safe, and what a wrong guess costs, is in
docs/decisions/0007-dead-brokers-are-fenced-at-once.md.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

from kafkapy.broker.requests.request import Peer
from kafkapy.core.addresses import Address
from kafkapy.core.network import Channel, Down, Network, NoNetwork
from kafkapy.core.seams import Clock, Timer
from kafkapy.core.time import Instant, later
from kafkapy.kraft.controller.brokers.liveness import BrokerDied
from kafkapy.kraft.controller.controller import Controller
from kafkapy.kraft.records.metadata import Endpoint

# A process that ends closes its sockets one after the other: ask again after these.
RETRIES_MS: Final = (100, 300, 1000)
# Two packets that ask for a connection: the second leaves after a second.
PROBE_TIMEOUT_MS: Final = 1500
# So long nobody answers who hung up before he is believed to be gone: as all retries take.
GONE_AFTER_MS: Final = sum(RETRIES_MS)
# A port that refused so lately is looked at again by whoever comes to lead.
RECENT_MS: Final = 10_000


class DeadBrokers:
    """Of one controller; it does nothing while another is active."""

    def __init__(
        self,
        controller: Controller,
        network: Network,
        clock: Clock,
        *,
        node_id: int,
        heartbeat_ms: int,
    ) -> None:
        """`heartbeat_ms`: so often a broker is to be heard of."""
        self._controller = controller
        self._network = network
        self._clock = clock
        self._node_id = node_id
        self._heartbeat_ms = heartbeat_ms
        self._heard: dict[Peer, set[int]] = {}
        self._suspected: set[int] = set()
        self._refused_at: dict[int, Instant] = {}
        self._hung_up_at: dict[int, Instant] = {}

    def heard(self, peer: Peer, broker_id: int) -> None:
        """A heartbeat of this broker came over that connection."""
        brokers = self._heard.get(peer)
        if brokers is None:
            brokers = self._heard[peer] = set()
            peer.on_close.append(lambda: self._closed(peer))
        brokers.add(broker_id)

    def refused(self, node_id: int) -> None:
        """The port of this node's controller refuses connections."""
        self._refused_at[node_id] = self._clock.now()
        self._suspect(node_id)

    def hung_up(self, node_id: int) -> None:
        """The connection to this node's controller ended."""
        self._hung_up_at[node_id] = self._clock.now()

    def leads(self) -> None:
        """This controller is active now."""
        now = self._clock.now()
        for node_id, when in self._hung_up_at.items():
            if now - when < RECENT_MS:
                self._suspect(node_id, hung_up=True)
        for node_id, when in self._refused_at.items():
            if now - when < RECENT_MS:
                self._suspect(node_id)
        # Nobody else's connection to the controller before broke for all to see.
        self._clock.call_at(later(now, self._heartbeat_ms * 3 // 2), lambda: self._missed(now))

    def _missed(self, since: Instant) -> None:
        """Whoever lives has said so to the new controller by now."""
        controller = self._controller
        for broker_id in list(controller.image.brokers):
            if controller.is_awaited(broker_id, since):
                self._suspect(broker_id)

    def _closed(self, peer: Peer) -> None:
        for broker_id in self._heard.pop(peer, ()):
            self._suspect(broker_id, hung_up=True)

    def _suspect(self, broker_id: int, *, hung_up: bool = False) -> None:
        is_ours = broker_id == self._node_id or isinstance(self._network, NoNetwork)
        if not is_ours and broker_id not in self._suspected:
            self._probe(broker_id, self._clock.now(), RETRIES_MS, hung_up=hung_up)

    def _probe(
        self, broker_id: int, since: Instant, retries_ms: Sequence[int], *, hung_up: bool
    ) -> None:
        """`since` then nothing was heard of it."""
        self._suspected.discard(broker_id)
        controller = self._controller
        broker = controller.image.brokers.get(broker_id)
        if broker is None or not controller.is_awaited(broker_id, since):
            return
        epoch = broker.epoch
        self._suspected.add(broker_id)

        def probed(found: _Found) -> None:
            self._suspected.discard(broker_id)
            is_gone = hung_up and self._clock.now() - since >= GONE_AFTER_MS
            if found is _Found.DEAD or (found is _Found.SILENT and is_gone):
                controller.submit(BrokerDied(broker_id, epoch, since), lambda reply: None)
            elif retries_ms:
                self._suspected.add(broker_id)
                again = later(self._clock.now(), retries_ms[0])
                rest = retries_ms[1:]
                self._clock.call_at(
                    again, lambda: self._probe(broker_id, since, rest, hung_up=hung_up)
                )

        _Probe(broker.endpoints, probed).begin(self._network, self._clock)


class _Found(Enum):
    DEAD = "all of its listeners refuse"
    SILENT = "none accepts, and not all refuse"
    ALIVE = "one accepts"


class _Probe:
    """Connects to every endpoint, and tells what was found as soon as it is sure."""

    def __init__(self, endpoints: Sequence[Endpoint], then: Callable[[_Found], None]) -> None:
        self._endpoints = endpoints
        self._then: Callable[[_Found], None] | None = then
        self._channels: list[Channel] = []
        self._downs: list[Down] = []
        self._timer: Timer | None = None

    def begin(self, network: Network, clock: Clock) -> None:
        deadline = later(clock.now(), PROBE_TIMEOUT_MS)
        self._timer = clock.call_at(deadline, lambda: self._end(_Found.SILENT))
        for one in self._endpoints:
            self._channels.append(network.connect(Address(one.host, one.port), one.name, self))

    def on_up(self) -> None:
        self._end(_Found.ALIVE)

    def on_frame(self, frame: memoryview) -> None:
        self._end(_Found.ALIVE)

    def on_down(self, why: Down, reason: str) -> None:
        if why is Down.BROKEN:  # a login that was not to its taste: somebody is there
            self._end(_Found.ALIVE)
            return
        self._downs.append(why)
        if len(self._downs) == len(self._endpoints):
            is_dead = all(one is Down.REFUSED for one in self._downs)
            self._end(_Found.DEAD if is_dead else _Found.SILENT)

    def _end(self, found: _Found) -> None:
        then, self._then = self._then, None
        if then is None:
            return
        for channel in self._channels:
            channel.close()
        if self._timer is not None:
            self._timer.cancel()
        then(found)
