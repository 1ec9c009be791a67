"""Whose page makes a browser ask: what changes something is asked for by our own pages alone."""

from collections.abc import Iterator

import httpx2 as httpx
import pytest
from starlette.datastructures import Headers

from kafkapy.http.entrance.origins import is_foreign, require_own_page
from kafkapy.http.problems import Problem
from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of

OURS = "https://ours.example"
ALLOWED = (OURS,)
HOST = {"host": "kafka.example:8080"}
BROWSER = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64)", "accept-language": "en"}
HTTPS = {**BROWSER, "sec-fetch-mode": "navigate"}
FOREIGN = [
    pytest.param({"origin": "https://elsewhere.example"}, id="a script, a form, an EventSource"),
    pytest.param({"origin": "null"}, id="a page in a sandbox"),
    pytest.param({"origin": "http://["}, id="an origin that is none"),
    pytest.param({**HTTPS, "sec-fetch-site": "cross-site"}, id="a link, an image"),
    pytest.param({**HTTPS, "sec-fetch-site": "same-site"}, id="a neighbour's"),
]
# Of requests that change something though they are GETs.
UNKNOWN = [
    pytest.param({**HTTPS, "sec-fetch-site": "none"}, id="a link in somebody's mail"),
    pytest.param(BROWSER, id="over http, without a referrer"),
    pytest.param({**BROWSER, "referer": "http://elsewhere.example/"}, id="over http, a link"),
]
OWN = [
    pytest.param({}, id="no browser"),
    pytest.param({"user-agent": "curl/8.5.0"}, id="curl"),
    pytest.param({"user-agent": "Mozilla/5.0 PowerShell/7.4"}, id="what is only called so"),
    pytest.param({"origin": "http://kafka.example:8080"}, id="our own page's script"),
    pytest.param({"origin": OURS, "sec-fetch-site": "cross-site"}, id="an origin that is named"),
    pytest.param({**HTTPS, "sec-fetch-site": "same-origin"}, id="our own page's EventSource"),
    pytest.param({**BROWSER, "referer": "http://kafka.example:8080/x"}, id="the same over http"),
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_page_of_another_site_is_foreign(headers: dict[str, str]) -> None:
    assert is_foreign(Headers({**HOST, **headers}), ALLOWED)


@pytest.mark.parametrize("headers", [*FOREIGN, *UNKNOWN])
def test_what_no_page_of_ours_asks_for_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(Problem) as refused:
        require_own_page(Headers({**HOST, **headers}), ALLOWED)
    assert refused.value.status == 403


@pytest.mark.parametrize("headers", OWN)
def test_our_own_pages_and_whoever_is_no_browser_may_ask(headers: dict[str, str]) -> None:
    assert not is_foreign(Headers({**HOST, **headers}), ALLOWED)
    require_own_page(Headers({**HOST, **headers}), ALLOWED)


@pytest.fixture(scope="module")
def strict() -> Iterator[Broker]:
    with Broker({**HTTP, "http.cors.allowed.origins": OURS}) as started:
        yield started


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://elsewhere.example"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
        {"sec-fetch-site": "none", "sec-fetch-mode": "navigate"},
    ],
)
def test_a_link_that_somebody_opens_reads_nothing_for_a_group(
    strict: Broker, method: str, headers: dict[str, str]
) -> None:
    """Neither /api/v1's stream nor a consumer of v2; the group's consumer gets the record."""
    topic = f"read-{method}-{len(headers)}-{headers.get('sec-fetch-site')}"
    strict.create_topic(topic)
    strict.produce(topic, b'{"n": 1}')
    with client_of(strict) as client:
        query = {"topics": topic, "offset": "earliest", "ack": "auto"}
        path = f"/api/v1/consumer-groups/{topic}/stream"
        assert client.request(method, path, params=query, headers=headers).status_code == 403
        base = _consumer(client, topic)
        assert client.request(method, f"{base}/records", headers=headers).status_code == 403
        accept = {"accept": "application/vnd.kafka.json.v2+json"}
        answer = client.get(f"{base}/records", params={"timeout": 10_000}, headers=accept)
        assert [one["value"] for one in answer.json()] == [{"n": 1}], answer.text
        assert client.delete(base).status_code == 204


def test_a_form_without_an_origin_is_a_foreign_page_s_if_the_browser_says_so(
    strict: Broker,
) -> None:
    strict.create_topic("posted")
    path = "/api/v1/topics/posted/messages"
    with client_of(strict) as client:
        for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200)):
            headers = {"sec-fetch-site": site}
            assert client.post(path, json={"value": 1}, headers=headers).status_code == status
    assert len(strict.records("posted")) == 1


def test_a_page_of_an_origin_that_is_named_reads_for_a_group(strict: Broker) -> None:
    strict.create_topic("named")
    headers = {"origin": OURS, "sec-fetch-site": "cross-site"}
    path = "/api/v1/consumer-groups/named/stream?topics=named"
    with client_of(strict) as client, client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        assert next(answer.iter_text())


def _consumer(client: httpx.Client, topic: str) -> str:
    wanted = {"format": "json", "auto.offset.reset": "earliest", "name": "c"}
    media = {"content-type": "application/vnd.kafka.v2+json"}
    made = client.post(f"/consumers/{topic}", json=wanted, headers=media)
    assert made.status_code == 200, made.text
    base = f"/consumers/{topic}/instances/c"
    assert client.post(f"{base}/subscription", json={"topics": [topic]}).status_code == 204
    return base
