"""The Network seam between simulated machines: real frames, virtual time, faults on request.

    host n1 --- path n1 -> n2: open or cut, so slow --- host n2: up, paused, dead
            <-- path n2 -> n1: its own state ----------

Like TCP: frames of one direction of a connection arrive in order or not at all; what is sent
into a cut waits there, as retransmissions would, and arrives when it heals, if both ends still
want it; a connection that is `half_open` is gone for one end and slow to tell the other, so that
old requests arrive beside new ones; a process that dies resets its connections (as far as the
paths let that through), a machine that loses its power says nothing to anybody: its peers find
out by waiting, or when it is back and knows nothing of the connection.

The host part of an address names the machine. Who listens says so with `listen`.
"""

from bisect import insort
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from kafkapy.core.addresses import Address
from kafkapy.core.network import ChannelOwner, Down
from kafkapy.core.seams import Bytes, Callback
from kafkapy.core.time import Instant, later
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.journal import Trace
from kafkapy.sim.world.rng import SimRng

_SIZE_BYTES: Final = 4
# (least, most) milliseconds that one frame takes; most are near the least.
Latency = tuple[int, int]
USUAL: Final[Latency] = (0, 2)

Accept = Callable[["End", str], ChannelOwner]


class End:
    """One end of a connection: the Channel of whoever is there."""

    def __init__(self, network: "SimNetwork", host: "HostNetwork", life: int, number: int) -> None:
        self.host = host
        self.number = number
        self.other: End
        self.owner: ChannelOwner | None = None
        self.is_open = True
        self._network = network
        self._life = life
        self.arrives_last = Instant(0)  # of what was sent from here
        # Sent into a cut, or while this end is stalled, in the order in which it was sent.
        self.held: list[tuple[int, Callback]] = []
        self.is_stalled = False

    @property
    def is_there(self) -> bool:
        """The process that holds it lives."""
        return self._life == self.host.life

    def send(self, parts: Sequence[Bytes]) -> None:
        assert self.is_open, (self.host.name, "sends on a closed channel")
        assert self.is_there, (self.host.name, "a dead process sends")
        data = b"".join(parts)
        self._network.sends(self, data)
        assert int.from_bytes(data[:_SIZE_BYTES], "big") == len(data) - _SIZE_BYTES, "half a frame"
        self.host.leaves(lambda: self._network.carry(self, partial(_deliver, self.other, data)))

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            if self.is_there:
                # What was sent before still leaves, then the end of it.
                closed = "closed by the peer"
                self.host.leaves(
                    lambda: self._network.carry(self, partial(_end, self.other, closed))
                )


class HostNetwork:
    """What one machine has of the network. Its processes come and go (`life`)."""

    def __init__(self, network: "SimNetwork", name: str) -> None:
        self.name = name
        self.life = 0
        self.is_up = True
        self.is_known = True  # its name has an address
        # Runs a callback in the process of this host: at once, or when it is no longer paused.
        self.run: Callable[[Callback], None] = lambda then: then()
        # Lets what was sent in a turn leave at its end.
        self.leaves: Callable[[Callback], None] = lambda then: then()
        self._network = network
        self._listeners: dict[int, Accept] = {}

    # The seam.

    def connect(self, address: Address, listener: str, owner: ChannelOwner) -> End:
        return self._network.connect(self, address, owner)

    # The machine.

    def listen(self, port: int, accept: Accept) -> None:
        self._listeners[port] = accept

    def stop_listening(self, port: int) -> None:
        self._listeners.pop(port, None)

    def accepts(self, port: int) -> Accept | None:
        return self._listeners.get(port)

    def process_died(self) -> None:
        """The operating system resets what the process had open."""
        self._end_of_life()
        for end in self._network.ends_of(self):
            if end.is_open:
                end.is_open = False
                self._network.carry(end, partial(_end, end.other, "connection reset by peer"))

    def reset_connections(self) -> None:
        """The process ends all it has, in both directions."""
        for end in self._network.ends_of(self):
            if end.is_open:
                self._network.carry(end, partial(_end, end.other, "connection reset by peer"))
                _end(end, "ended by this process")

    def machine_died(self) -> None:
        self._end_of_life()
        self.is_up = False
        for end in self._network.ends_of(self):
            end.is_open = False

    def machine_left(self, *, with_its_name: bool) -> None:
        """Its process dies and the machine with it, as a container's does: the resets leave,
        and whoever asks for it then gets no answer, or not even an address."""
        self.process_died()
        self.is_up = False
        self.is_known = not with_its_name

    def machine_started(self) -> None:
        self.is_up = self.is_known = True

    def _end_of_life(self) -> None:
        self.life += 1
        self._listeners.clear()


class SimNetwork:
    """All hosts, the paths between them and what is under way."""

    def __init__(self, clock: SimClock, rng: SimRng, trace: Trace) -> None:
        self.hosts: dict[str, HostNetwork] = {}
        self.frames = 0
        self.bytes = 0
        self._clock = clock
        self._rng = rng
        self._trace = trace
        self._cut: set[tuple[str, str]] = set()
        self._latency: dict[tuple[str, str], Latency] = {}
        self._usual: Latency = USUAL
        self._ends: dict[str, list[End]] = {}
        self._connections = 0
        self.traces_frames = True

    def host(self, name: str) -> HostNetwork:
        if name not in self.hosts:
            self.hosts[name] = HostNetwork(self, name)
            self._ends[name] = []
        return self.hosts[name]

    def ends_of(self, host: HostNetwork) -> list[End]:
        ends = [end for end in self._ends[host.name] if end.is_open or end.other.is_open]
        self._ends[host.name] = ends
        return list(ends)

    # Faults.

    def cut(self, source: str, target: str) -> None:
        """Nothing from `source` reaches `target` any more; the other way is another path."""
        self._cut.add((source, target))
        self._trace.note("cut", source, target)

    def cut_both(self, one: str, other: str) -> None:
        self.cut(one, other)
        self.cut(other, one)

    def mend(self, source: str, target: str) -> None:
        """One path is open again; what waited goes on its way."""
        if (source, target) in self._cut:
            self._trace.note("mend", source, target)
            self._cut.discard((source, target))
            for end in self.ends_of(self.hosts[source]):
                if end.other.host.name == target:
                    self._release(end)

    def mend_both(self, one: str, other: str) -> None:
        self.mend(one, other)
        self.mend(other, one)

    def isolate(self, name: str, others: Sequence[str] | None = None) -> None:
        for other in self.hosts if others is None else others:
            if other != name:
                self.cut_both(name, other)

    def heal(self) -> None:
        """Every path is open and of its usual speed; what waited goes on its way, in order."""
        self._trace.note("heal")
        self._cut.clear()
        self._latency.clear()
        self._usual = USUAL
        for ends in self._ends.values():
            for end in ends:
                end.is_stalled = False
                self._release(end)

    def _release(self, end: End) -> None:
        if not end.is_stalled:
            held, end.held = end.held, []
            for number, arrive in held:
                self._schedule(end, number, arrive)

    def slow(self, latency: Latency, source: str | None = None, target: str | None = None) -> None:
        """One path, or all of them."""
        if source is None or target is None:
            self._usual = latency
        else:
            self._latency[source, target] = latency

    def usual(self, source: str | None = None, target: str | None = None) -> None:
        """The end of `slow`."""
        if source is None or target is None:
            self._usual = USUAL
        else:
            self._latency.pop((source, target), None)

    def break_connections(self, one: str, other: str) -> None:
        """Every connection between two hosts is reset; both hear of it."""
        for end in self.ends_of(self.hosts[one]):
            if end.other.host.name == other:
                self._trace.note("break", one, other)
                for side in (end, end.other):
                    side.host.run(partial(_end, side, "connection reset"))

    def half_open(self, one: str, other: str, for_ms: int) -> None:
        """`one` hears that its connections are gone. What it sent is still under way and arrives
        after a while, beside what it sends on new ones, and then `other` hears of the end too."""
        for end in self.ends_of(self.hosts[one]):
            if end.other.host.name == other and end.is_open and end.other.is_open:
                self._trace.note("half open", one, other)
                end.is_stalled = True
                self.carry(end, partial(_end, end.other, "connection reset by peer"))
                end.host.run(partial(_end, end, "connection reset"))
                self._clock.call_at(later(self._clock.now(), for_ms), partial(self._unstall, end))

    def _unstall(self, end: End) -> None:
        end.is_stalled = False
        if (end.host.name, end.other.host.name) not in self._cut:
            self._release(end)

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cut

    # Carrying.

    def sends(self, end: End, data: bytes) -> None:
        self.bytes += len(data)
        if self.traces_frames:
            facts = (end.host.name, end.other.host.name, len(data))
            self._trace.note("sends", *facts, data=data)

    def connect(self, origin: HostNetwork, address: Address, owner: ChannelOwner) -> End:
        self._connections += 1
        target = self.hosts.get(address.host)
        here = End(self, origin, origin.life, self._connections)
        here.owner = owner
        if target is None or not target.is_known:
            self._clock.call_soon(lambda: _down(here, Down.UNREACHABLE, "no such host"))
            here.other = here
            return here
        there = End(self, target, target.life, self._connections)
        here.other, there.other = there, here
        self._ends[origin.name].append(here)
        self._ends[target.name].append(there)
        self.carry(here, partial(self._knock, here, there, address.port))
        return here

    def _knock(self, here: End, there: End, port: int) -> None:
        """The request for a connection has arrived."""
        target = there.host
        if not target.is_up:
            there.is_open = False
            return
        accept = target.accepts(port)
        if accept is None:
            there.is_open = False
            refused = partial(_down, here, Down.REFUSED, "connection refused")
            self.carry(there, refused)
            return
        there._life = target.life

        def accepted() -> None:
            if there.is_there and there.is_open:
                there.owner = accept(there, here.host.name)

        # The kernel accepts for a process that is paused; the process hears of it later.
        target.run(accepted)
        self.carry(there, partial(_up, here))

    def carry(self, source: End, arrive: Callback) -> None:
        """`arrive` happens at the other machine, after whatever left here before it."""
        self.frames += 1
        self._schedule(source, self.frames, arrive)

    def _schedule(self, source: End, number: int, arrive: Callback) -> None:
        path = (source.host.name, source.other.host.name)
        if path in self._cut or source.held or source.is_stalled:
            insort(source.held, (number, arrive), key=_number)
            return
        low, high = self._latency.get(path, self._usual)
        # Mostly quick; one in ten takes anything up to the most.
        wait = low if self._rng.below(10) else self._rng.between(low, high)
        when = max(later(self._clock.now(), wait), source.arrives_last)
        source.arrives_last = when
        self._clock.call_at(when, lambda: self._arrived(source, number, arrive))

    def _arrived(self, source: End, number: int, arrive: Callback) -> None:
        path = (source.host.name, source.other.host.name)
        if path in self._cut or source.is_stalled:
            insort(source.held, (number, arrive), key=_number)
            return
        if not source.other.host.is_up:
            return  # nobody is there to say that nobody is there
        arrive()


def _number(held: tuple[int, Callback]) -> int:
    return held[0]


def _up(end: End) -> None:
    def told() -> None:
        if end.is_open and end.is_there and end.owner is not None:
            end.owner.on_up()

    end.host.run(told)


def _deliver(end: End, data: bytes) -> None:
    if not end.is_there:
        # The machine is back, the process that had this connection is gone: it is reset.
        if end.other.is_open:
            end.host._network.carry(end, partial(_end, end.other, "connection reset by peer"))
        return

    def told() -> None:
        if end.is_open and end.is_there and end.owner is not None:
            end.owner.on_frame(memoryview(data)[_SIZE_BYTES:])

    end.host.run(told)


def _end(end: End, reason: str) -> None:
    _down(end, Down.BROKEN, reason)


def _down(end: End, why: Down, reason: str) -> None:
    def told() -> None:
        if end.is_open and end.is_there:
            end.is_open = False
            if end.owner is not None:
                end.owner.on_down(why, reason)

    end.host.run(told)
