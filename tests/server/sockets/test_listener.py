"""A listener by itself: whom it lets in, as whom, and what it does when nothing is left."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.quotas.door import Door
from kafkapy.broker.quotas.limits import Limits
from kafkapy.broker.requests.request import Peer
from kafkapy.server.sockets.listener import Listener, listen
from kafkapy.server.sockets.reactor import READ
from kafkapy.server.sockets.room import Room
from kafkapy.sim.world.clock import SimClock
from tests.broker.config.kafka import minimal
from tests.broker.handlers.journal import ToldJournal
from tests.kraft.controller.access.test_client_quotas import entity
from tests.server.sockets.test_connection import Echo, FakeReactor


class Place:
    """Where listeners of a broker are, and who connects to them."""

    def __init__(self, limits: Limits | None = None, **settings: str) -> None:
        self.clock = SimClock()
        self.journal = ToldJournal()
        self.reactor = FakeReactor()
        self.peers: list[Peer] = []
        config = {name.replace("_", "."): value for name, value in settings.items()}
        self.config = BrokerConfig({**minimal().static, **config})
        self.room = Room(self.config)
        self._door = Door(self.config, self.clock, lambda: limits or Limits({}))
        self._closing = ExitStack()

    def listen(self, name: str, host: str = "127.0.0.1") -> Listener:
        def gate(peer: Peer) -> Any:
            self.peers.append(peer)
            return Echo().dispatch

        sock = listen(host, 0, 100)
        listener = Listener(
            name,
            sock,
            self.reactor,
            gate,
            Echo().encode,
            self.journal,
            is_controller=False,
            max_frame_bytes=1000,
            room=self.room,
            door=self._door,
        )
        self._closing.callback(listener.close)
        return listener

    def come(self, listener: Listener) -> socket.socket:
        client = socket.create_connection(("127.0.0.1", listener.address[1]))
        self._closing.callback(client.close)
        listener.on_readable()
        return client

    def close(self) -> None:
        self._closing.close()
        self.clock.advance(60_000)  # who was sent away is let go in time


@pytest.fixture
def places() -> Iterator[list[Place]]:
    made: list[Place] = []
    yield made
    for one in made:
        one.close()


def placed(places: list[Place], limits: Limits | None = None, **settings: str) -> Place:
    place = Place(limits, **settings)
    places.append(place)
    return place


def is_closed(client: socket.socket) -> bool:
    client.settimeout(0)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False


def listen_everywhere(place: Place) -> Listener:
    try:
        return place.listen("PLAINTEXT", "::")
    except OSError:
        pytest.skip("there is no IPv6 here")


def test_who_comes_by_ipv4_to_an_address_of_ipv6_has_its_own(places: list[Place]) -> None:
    """A DENY of 127.0.0.1 would not be about ::ffff:127.0.0.1."""
    place = placed(places, max_connections_per_ip_overrides="127.0.0.1:1")
    listener = listen_everywhere(place)
    place.come(listener)
    assert [one.host for one in place.peers] == ["127.0.0.1"]
    assert is_closed(place.come(listener))


def test_its_rate_is_that_of_its_address(places: list[Place]) -> None:
    limits = Limits({entity(ip="127.0.0.1"): {"connection_creation_rate": 1.0}})
    place = placed(places, limits)
    listener = listen_everywhere(place)
    for _ in range(20):
        place.come(listener)
    assert len(listener.connections) < 20
    reasons = {str(facts["reason"]) for _, facts in place.journal.told}
    assert reasons == {"its address connects too often"}


def test_one_too_many_over_all_listeners_is_sent_away(places: list[Place]) -> None:
    place = placed(places, max_connections="2")
    first, second = place.listen("PLAINTEXT"), place.listen("OTHER")
    place.come(first).close()
    place.come(second)
    assert is_closed(place.come(second))
    assert place.journal.told == [
        (
            "connection refused",
            {"listener": "OTHER", "peer": "127.0.0.1", "reason": "max.connections are open"},
        )
    ]


def test_for_another_broker_who_was_silent_longest_goes(places: list[Place]) -> None:
    """On a listener of other brokers' own; one that is shared with clients has no precedence."""
    place = placed(places, max_connections="2")
    assert place.config.listening.inter_broker_name == "PLAINTEXT"
    brokers, clients = place.listen("PLAINTEXT"), place.listen("OTHER")
    silent, other = place.come(clients), place.come(clients)
    by_address = {one.peer: one for one in clients.connections}
    by_address[place.peers[0]].last_used = 1.0
    by_address[place.peers[1]].last_used = 2.0
    broker = place.come(brokers)
    assert [is_closed(one) for one in (silent, other, broker)] == [True, False, False]
    place.come(brokers)
    assert is_closed(other)
    # Nobody else is left to go: the brokers are more than it says, as with Apache Kafka.
    place.come(brokers)
    assert (len(brokers.connections), len(clients.connections)) == (3, 0)
    assert is_closed(place.come(clients))


def test_a_brokers_only_listener_is_everybodys(places: list[Place]) -> None:
    place = placed(places, max_connections="1")
    listener = place.listen("PLAINTEXT")
    assert not is_closed(place.come(listener))
    assert is_closed(place.come(listener))


def test_a_listener_may_have_its_own_bound(places: list[Place]) -> None:
    place = placed(places, listener_name_plaintext_max_connections="1", max_connections="3")
    brokers, clients = place.listen("PLAINTEXT"), place.listen("OTHER")
    place.come(brokers)
    assert is_closed(place.come(brokers))
    for _ in range(2):
        assert not is_closed(place.come(clients))
    assert is_closed(place.come(clients))


class Exhausted:
    """A listening socket in a process that has no descriptor left."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.asked = 0

    def accept(self) -> object:
        self.asked += 1
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def test_without_descriptors_it_waits_a_moment_and_tells_it_once(
    places: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who knocks is ready all the time: the loop would turn for nothing else."""
    place = placed(places)
    listener = place.listen("PLAINTEXT")
    fd, sock = listener._socket.fileno(), listener._socket
    exhausted: Any = Exhausted(sock)
    monkeypatch.setattr(listener, "_socket", exhausted)
    for turn in range(5):
        assert place.reactor.interest[fd] == READ
        listener.on_readable()
        assert exhausted.asked == turn + 1
        assert place.reactor.interest[fd] == 0
        place.clock.advance(99)
        assert place.reactor.interest[fd] == 0
        place.clock.advance(1)
    assert [event for event, _ in place.journal.told] == ["accept failed"]
    monkeypatch.setattr(listener, "_socket", sock)
    place.come(listener)
    assert len(listener.connections) == 1


def test_the_last_descriptors_are_for_files(places: list[Place]) -> None:
    """A flood of connections had a node take the lack of them for a disk that fails."""
    place = placed(places)
    listener = place.listen("PLAINTEXT")
    first = place.come(listener)
    most = max(one._socket.fileno() for one in listener.connections)
    place.room.most_descriptors = lambda: most
    second = place.come(listener)
    assert (len(listener.connections), is_closed(first), is_closed(second)) == (1, False, True)
    assert place.reactor.interest[listener._socket.fileno()] == 0
    place.room.most_descriptors = lambda: most + 100
    place.clock.advance(100)
    assert place.reactor.interest[listener._socket.fileno()] == READ
    place.come(listener)
    assert len(listener.connections) == 2
