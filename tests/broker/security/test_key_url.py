"""A provider's keys at a URL: when they are fetched, and what a login has meanwhile."""

import json

import pytest

from kafkapy.broker.config.security.tls import PEM, Store
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.security.fetching import Fetched, FetchRequest, no_fetch
from kafkapy.broker.security.key_url import MOST_BYTES, KeyUrl, RefreshSettings
from kafkapy.broker.security.oauthbearer import BadToken
from kafkapy.broker.security.signed_tokens import SignedJudge
from tests.broker.handlers.journal import ToldJournal
from tests.broker.security.gate import secured_world
from tests.broker.security.test_signed_tokens import (
    CLAIMS,
    GIVEN,
    NOW,
    PREFIX,
    SETTINGS,
    jwks,
    signed,
)
from tests.coordinator.fakes import FakeClock

HOUR = 3_600_000
NOBODY = Store("", PEM, None)
UNREACHABLE = OSError("connection refused")


class Provider:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.journal = ToldJournal()
        self.waiting: list[Fetched] = []
        self.asked = 0
        request = FetchRequest("https://issuer/keys", NOBODY, 1000, 1000, MOST_BYTES)
        settings = RefreshSettings(HOUR, 100, 1000)
        self.keys = KeyUrl(self._fetch, request, settings, self.clock, self.journal)

    def _fetch(self, request: FetchRequest, then: Fetched) -> None:
        self.asked += 1
        self.waiting.append(then)

    def answer(self, answer: bytes | OSError) -> None:
        waiting, self.waiting = self.waiting, []
        for then in waiting:
            then(answer)

    def advance(self, by_ms: int) -> int:
        """How often it is asked meanwhile."""
        before = self.asked
        self.clock.advance(by_ms)
        return self.asked - before


@pytest.fixture
def provider() -> Provider:
    made = Provider()
    made.keys.start()
    return made


def test_keys_are_there_once_they_are_fetched_and_are_fetched_anew_in_time(
    provider: Provider,
) -> None:
    assert provider.keys() == {}
    provider.answer(jwks())
    assert set(provider.keys()) == {"r", "e"}
    assert provider.advance(HOUR - 1) == 0
    assert provider.advance(1) == 1
    provider.answer(json.dumps({"keys": json.loads(jwks())["keys"][:1]}).encode())
    assert set(provider.keys()) == {"r"}


@pytest.mark.parametrize("bad", [UNREACHABLE, b"<html>", b'{"keys": []}', b""], ids=str)
def test_what_fails_is_tried_again_less_and_less_often_and_said_once(
    provider: Provider, bad: bytes | OSError
) -> None:
    provider.answer(jwks())
    provider.advance(HOUR)
    for wait_ms in (100, 200, 400, 800, 1000, 1000):
        provider.answer(bad)
        assert provider.advance(wait_ms - 1) == 0
        assert provider.advance(1) == 1
    assert set(provider.keys()) == {"r", "e"}, "what was good goes on"
    provider.answer(jwks())
    told = [event for event, _ in provider.journal.told]
    assert told == ["keys of tokens not fetched", "keys of tokens fetched again"]


def test_an_answer_that_never_comes_is_not_waited_for(provider: Provider) -> None:
    late = provider.waiting.pop()
    assert provider.advance(4000 + 100) == 1
    late(json.dumps({"keys": []}).encode())
    provider.answer(jwks())
    assert set(provider.keys()) == {"r", "e"}


def test_a_token_of_an_unknown_key_has_them_fetched_but_not_for_each(provider: Provider) -> None:
    provider.answer(b'{"keys": [%s]}' % json.dumps(json.loads(jwks())["keys"][1]).encode())
    judge = SignedJudge(SETTINGS, provider.keys, provider.clock.wall, provider.keys.unknown)
    provider.advance(10_000)
    provider.clock.wall_ahead_ms = NOW * 1000 - provider.clock.now()
    for _ in range(100):
        with pytest.raises(BadToken, match="key that nobody knows"):
            judge(signed(CLAIMS))
    assert provider.asked == 2
    provider.answer(jwks())
    assert judge(signed(CLAIMS)).user == "alice"
    with pytest.raises(BadToken):
        judge(signed(CLAIMS, key_id="another"))
    assert provider.asked == 2


def test_where_nothing_is_fetched_nobody_gets_in() -> None:
    answers: list[bytes | OSError] = []
    no_fetch(FetchRequest("https://issuer/keys", NOBODY, 1, 1, 1), answers.append)
    assert isinstance(answers[0], OSError)


@pytest.mark.parametrize(
    "url", ["", "ftp://issuer/keys", "file://keys", "https://", "https://me:secret@issuer/keys"]
)
def test_keys_that_are_nowhere_are_refused_at_the_start(url: str) -> None:
    with pytest.raises(ConfigError, match="jwks"):
        secured_world(1, **{**GIVEN, f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url": url})
