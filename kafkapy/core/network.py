"""The Network seam: frames to an address and back.

    connect --> on_up --> send, on_frame, send, ... --> on_down(BROKEN)
           \\--> on_down(REFUSED or UNREACHABLE)

An address may be a node's listener or a bootstrap server whose node nobody knows yet: the
seam does not care. Four promises, on real sockets and in the simulator alike
(tests/network_conformance.py):

- Nothing happens synchronously: `connect` and `send` return before their owner hears.
- Frames of one channel arrive whole and in order, or not at all: after the first that is
  lost none comes.
- A frame leaves at the end of the turn in which it was sent, after what was appended in that
  turn has been written: a peer is never told of what is not in the files.
- `on_down` comes once, at the end; never after `close`. A peer that vanished without a word
  (power, a cut cable) is not noticed here: who waits for an answer needs a timeout.

What an answer belongs to, versions, timeouts and retries are not the network's business:
broker/peers has them, once, for every implementation.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from kafkapy.core.addresses import Address
from kafkapy.core.seams import Bytes


class Down(Enum):
    """Why a channel is not there. A dead process on a living machine is REFUSED."""

    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    BROKEN = "broken"


class ChannelOwner(Protocol):
    def on_up(self) -> None: ...

    def on_frame(self, frame: memoryview) -> None:
        """A whole frame without its size. The view is good until this returns."""

    def on_down(self, why: Down, reason: str) -> None: ...


class Channel(Protocol):
    """One connection. `send` only while it is up; `close` any number of times."""

    def send(self, parts: Sequence[Bytes]) -> None:
        """One frame, its size included."""

    def close(self) -> None: ...


class Network(Protocol):
    def connect(self, address: Address, listener: str, owner: ChannelOwner) -> Channel:
        """`listener` names the kind of connection that is wanted (PLAINTEXT, CONTROLLER ...):
        its settings say how it is secured."""


class NoNetwork:
    """For a node that is alone: whom it would reach is not there."""

    def connect(self, address: Address, listener: str, owner: ChannelOwner) -> Channel:
        raise AssertionError(f"a node without a network connects to {address}")
