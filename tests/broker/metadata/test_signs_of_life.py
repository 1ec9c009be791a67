"""Whoever asks whether others live hears what they say after that, and waits for nobody twice."""

from collections.abc import Callable
from typing import Any

from kafkapy.broker.metadata.signs_of_life import PATIENCE_MS, SignsOfLife
from kafkapy.broker.peers.failures import CallFailed, Why
from tests.coordinator.fakes import FakeClock


class Peers:
    """Connections to brokers that answer when the test says so."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.asked: list[tuple[int, Callable[[Any], None]]] = []
        self.heard: list[str] = []
        self.unknown: set[int] = set()
        self.signs = SignsOfLife(
            self.clock,
            self,
            lambda broker: self.heard.append(f"{broker} hung up"),
            lambda broker, asked_at: self.heard.append(f"{broker} answers"),
        )

    def to(self, broker_id: int) -> Any:
        return None if broker_id in self.unknown else _Peer(self, broker_id)

    def close(self) -> None: ...

    def of(self, *brokers: int) -> list[str]:
        """Empty until all is known."""
        told: list[str] = []
        self.signs.of(brokers, lambda: told.append("known"))
        return told

    def answer(self, what: Any = None) -> None:
        """The oldest question."""
        _, then = self.asked.pop(0)
        then(what)


class _Peer:
    def __init__(self, peers: Peers, broker_id: int) -> None:
        self._peers, self._broker_id = peers, broker_id

    def call(self, api: Any, body: Any, then: Callable[[Any], None], **named: Any) -> None:
        self._peers.asked.append((self._broker_id, then))


def test_all_who_are_asked_about_have_to_answer() -> None:
    peers = Peers()
    told = peers.of(1, 2)
    peers.answer()
    assert not told
    peers.answer()
    assert told
    assert peers.heard == ["1 answers", "2 answers"]


def test_an_answer_to_an_older_question_says_nothing() -> None:
    """It may have been on its way when the broker died."""
    peers = Peers()
    first, second, third = peers.of(1), peers.of(1), peers.of(1)
    assert len(peers.asked) == 1
    peers.answer()
    assert first
    assert not second
    assert len(peers.asked) == 1, "one question for all who came meanwhile"
    peers.answer()
    assert second
    assert third
    assert not peers.asked


def test_who_hangs_up_is_told_of_before_those_who_wait_and_asked_once_more() -> None:
    for why in (Why.BROKEN, Why.REFUSED):
        peers = Peers()
        told = peers.of(1)
        peers.answer(CallFailed(why, "gone"))
        assert told
        assert peers.heard == ["1 hung up"]
        peers.clock.advance(100)
        peers.answer(CallFailed(why, "gone"))
        peers.clock.advance(100)
        assert not peers.asked
        peers.of(1)
        peers.answer()
        assert peers.heard == ["1 hung up", "1 hung up", "1 answers"]


def test_who_is_silent_is_waited_for_once() -> None:
    peers = Peers()
    told = peers.of(1)
    peers.clock.advance(PATIENCE_MS - 1)
    assert not told
    peers.clock.advance(1)
    assert told == ["known"]
    assert peers.of(1) == ["known"], "at once"
    peers.answer(CallFailed(Why.TIMED_OUT, "silent"))
    assert peers.heard == []
    assert not peers.of(1)
    peers.answer()
    assert peers.heard == ["1 answers"]
    assert told == ["known"]


def test_where_nobody_knows_where_a_broker_is_nobody_waits() -> None:
    peers = Peers()
    peers.unknown.add(1)
    assert peers.of(1) == ["known"]
