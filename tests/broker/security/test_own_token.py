"""A node's own token of a provider: when it is asked for, what a login has meanwhile, and what is
refused of settings and answers."""

import json
from typing import Any

import pytest

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.security.jaas import OAUTH_MODULE
from kafkapy.broker.config.security.listener_security import check_secured
from kafkapy.broker.config.security.own_token import PROVIDED, RefreshTimes, TokenSource
from kafkapy.broker.config.security.tls import PEM, Store
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.broker.security.fetching import Fetched, FetchRequest
from kafkapy.broker.security.mechanism import LoginFailed
from kafkapy.broker.security.oauthbearer import BadToken
from kafkapy.broker.security.own_token import FetchedToken, token_of
from kafkapy.sim.world.rng import SimRng
from tests.broker.handlers.journal import ToldJournal
from tests.broker.security.test_signed_tokens import CLAIMS, signed
from tests.coordinator.fakes import FakeClock

SECRET = "its own secret"
SOURCE = TokenSource(
    "https://issuer/token", "node 1", SECRET, "kafka brokers", Store("", PEM, None), 1000, 1000
)
TIMES = RefreshTimes(0.8, 0.05, 60_000, 300_000, 100, 1000)
HOUR = 3_600_000
UNREACHABLE = OSError("connection refused")


class Provider:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.journal = ToldJournal()
        self.waiting: list[Fetched] = []
        self.asked: list[FetchRequest] = []
        self.token = FetchedToken(
            self._fetch, SOURCE, lambda: TIMES, self.clock, SimRng(1), self.journal
        )

    def _fetch(self, request: FetchRequest, then: Fetched) -> None:
        self.asked.append(request)
        self.waiting.append(then)

    def issue(self, lifetime_ms: int = HOUR, **claims: Any) -> str:
        now = self.clock.wall()
        times = {"iat": now / 1000, "exp": (now + lifetime_ms) / 1000}
        token = signed({**CLAIMS, **times, **claims})
        self.answer(json.dumps({"access_token": token}).encode())
        return token

    def answer(self, answer: bytes | OSError) -> None:
        waiting, self.waiting = self.waiting, []
        for then in waiting:
            then(answer)

    def advance(self, by_ms: int) -> int:
        """How often it is asked meanwhile."""
        before = len(self.asked)
        self.clock.advance(by_ms)
        return len(self.asked) - before


@pytest.fixture
def provider() -> Provider:
    made = Provider()
    made.token.start()
    return made


def test_it_is_asked_for_as_who_the_settings_say(provider: Provider) -> None:
    (request,) = provider.asked
    assert request.body == b"grant_type=client_credentials&scope=kafka+brokers"
    assert dict(request.headers)["Authorization"] == "Basic bm9kZSAxOml0cyBvd24gc2VjcmV0"
    assert SECRET not in repr(request) + repr(SOURCE)


def test_a_login_before_the_first_is_there_fails_and_waits_for_none(provider: Provider) -> None:
    with pytest.raises(LoginFailed, match="https://issuer/token"):
        provider.token()
    token = provider.issue()
    assert provider.token() == token


def test_the_next_is_asked_for_in_the_last_part_of_its_life(provider: Provider) -> None:
    """After four fifths and a little by chance."""
    first = provider.issue()
    assert provider.advance(HOUR * 80 // 100) == 0
    assert provider.advance(HOUR * 5 // 100) >= 1, "and again, because nobody answers"
    assert provider.token() == first, "it is good for longer"
    second = provider.issue(sub="bob")
    assert provider.token() == second


def test_no_later_than_some_minutes_before_it_ends(provider: Provider) -> None:
    """Four fifths of ten minutes would leave two: the buffer is five."""
    provider.issue(600_000)
    assert provider.advance(299_999) == 0
    assert provider.advance(1) == 1


def test_one_that_lives_too_shortly_for_that_is_renewed_by_its_share(provider: Provider) -> None:
    provider.issue(10_000)
    assert provider.advance(7_999) == 0
    assert provider.advance(501) == 1


def test_what_has_ended_is_shown_to_nobody(provider: Provider) -> None:
    provider.issue(10_000)
    provider.advance(8_500)
    provider.answer(UNREACHABLE)
    provider.advance(1_500)
    with pytest.raises(LoginFailed):
        provider.token()


@pytest.mark.parametrize("bad", [UNREACHABLE, b"<html>", b"[]", b'{"access_token": 5}'], ids=str)
def test_what_fails_is_tried_again_less_and_less_often_and_said_once(
    provider: Provider, bad: bytes | OSError
) -> None:
    for wait_ms in (100, 200, 400, 800, 1000, 1000):
        provider.answer(bad)
        assert provider.advance(wait_ms - 1) == 0
        assert provider.advance(1) == 1
    provider.issue()
    told = [event for event, _ in provider.journal.told]
    assert told == ["token of its own not fetched", "token of its own fetched again"]
    assert SECRET not in str(provider.journal.told)


def test_a_provider_that_never_answers_is_asked_again(provider: Provider) -> None:
    assert provider.advance(4_000 + 100) == 1


@pytest.mark.parametrize(
    "claims",
    [{"exp": None}, {"exp": 1}, {"exp": "tomorrow"}, {"iat": "yesterday"}],
    ids=str,
)
def test_one_that_is_not_good_now_is_not_taken(provider: Provider, claims: dict[str, Any]) -> None:
    provider.issue(**claims)
    with pytest.raises(LoginFailed):
        provider.token()


@pytest.mark.parametrize("token", ["a.b", "a.b.c d", "a.b.c\x01auth=Bearer x", "", None, 5])
def test_what_is_no_token_is_not_put_on_the_wire(token: object) -> None:
    with pytest.raises(BadToken):
        token_of(json.dumps({"access_token": token}).encode())


_PREFIX = "listener.name.brokers.oauthbearer.sasl."
_GIVEN = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listeners": "BROKERS://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "listener.security.protocol.map": "BROKERS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "BROKERS",
    "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.brokers.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain."
    'PlainLoginModule required user_a="b";',
    f"{_PREFIX}jaas.config": f'{OAUTH_MODULE} required clientId="node" clientSecret="{SECRET}";',
    f"{_PREFIX}login.callback.handler.class": PROVIDED,
    f"{_PREFIX}oauthbearer.token.endpoint.url": "https://issuer/token",
}


def test_settings_that_say_where_tokens_are_issued_and_to_whom() -> None:
    check_secured(BrokerConfig(_GIVEN))
    jaas = f"{OAUTH_MODULE} required;"
    own = {
        f"{_PREFIX}jaas.config": jaas,
        f"{_PREFIX}oauthbearer.client.credentials.client.id": "node",
        f"{_PREFIX}oauthbearer.client.credentials.client.secret": SECRET,
    }
    check_secured(BrokerConfig({**_GIVEN, **own}))
    file = {f"{_PREFIX}oauthbearer.token.endpoint.url": "file:///run/token"}
    check_secured(BrokerConfig({**_GIVEN, f"{_PREFIX}jaas.config": jaas, **file}))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("login.callback.handler.class", "a.Handler", "loads no Java classes"),
        ("login.callback.handler.class", "", "unsecuredLoginStringClaim_sub"),
        ("oauthbearer.token.endpoint.url", "", "where tokens are issued"),
        ("oauthbearer.token.endpoint.url", "ftp://issuer", "where tokens are issued"),
        ("jaas.config", f'{OAUTH_MODULE} required clientId="node";', "clientSecret"),
        (
            "oauthbearer.jwt.retriever.class",
            "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever",
            "not by assertions",
        ),
    ],
)
def test_settings_by_which_no_token_could_be_had(name: str, value: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        check_secured(BrokerConfig({**_GIVEN, f"{_PREFIX}{name}": value}))
    assert SECRET not in str(refused.value)
