"""How long pages take where there is much: 10,000 topics, messages of a megabyte.

A loaded machine decides no test: what a page sends is bounded here, and how long it took until a
browser had it all is told (`-rP` shows it).
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from kafkapy.http.kafka import records
from kafkapy.http.kafka.client import Kafka
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker
from tests.http.pages import HTTP, with_kafka

_TOPICS: Final = 10_000
_AT_ONCE: Final = 500
_LARGE: Final = 100
_KIB: Final = 1024
# What a page may send, whatever there is to show.
_MOST_SENT: Final = 150 * _KIB
_TIMES: Final = """() => {
  const one = performance.getEntriesByType('navigation')[0];
  return [one.responseEnd, one.loadEventEnd, one.decodedBodySize];
}"""


@pytest.fixture(scope="module")
def much() -> Iterator[Broker]:
    with Broker({**HTTP, "message.max.bytes": "2000000"}) as broker:
        with_kafka(broker, _fill)
        yield broker


async def _fill(kafka: Kafka) -> None:
    for first in range(0, _TOPICS, _AT_ONCE):
        rows = [
            {
                "name": f"team-{one % 97:02}.stream-{one:05}",
                "num_partitions": 1,
                "replication_factor": 1,
                "assignments": [],
                "configs": [],
            }
            for one in range(first, first + _AT_ONCE)
        ]
        body = {"topics": rows, "timeout": 60_000, "validate_only": False}
        answer = await kafka.ask(ApiKey.CREATE_TOPICS, body)
        assert {one.error_code for one in answer.topics} == {0}
    for one in range(_LARGE):
        lines = [{"line": line, "text": "x" * 80} for line in range(10_400)]
        value = json.dumps({"number": one, "lines": lines}).encode()
        assert 1_000_000 < len(value) < 1_300_000
        await records.produce(kafka, "team-00.stream-00000", 0, [NewRecord(b"k", value)])


@pytest.fixture
def page(chromium: Browser, much: Broker) -> Iterator[Page]:
    made = chromium.new_page(base_url=much.http)
    made.set_default_timeout(60_000)
    yield made
    made.close()


def _timed(page: Page, what: str, path: str) -> None:
    """Three times: the first also reads templates, and the last is told."""
    told: Any = None
    for _ in range(3):
        page.goto(path, wait_until="load")
        told = page.evaluate(_TIMES)
    answered, loaded, sent = told
    print(f"{what}: answered after {answered:.0f} ms, there after {loaded:.0f}, {sent:,} bytes")
    assert sent < _MOST_SENT, what


def test_ten_thousand_topics_are_pages_of_fifty(page: Page) -> None:
    _timed(page, "overview", "/")
    _timed(page, "the first topics", "/console/topics")
    expect(page.get_by_text("1 to 50 of 10,000 topics").first).to_be_visible()
    expect(page.locator("table.rows tbody tr")).to_have_count(50)
    _timed(page, "the last topics", "/console/topics?page=200")
    expect(page.get_by_text("9,951 to 10,000 of 10,000 topics").first).to_be_visible()
    _timed(page, "a search", "/console/topics?q=STREAM-0777")
    expect(page.get_by_text("1 to 10 of 10 topics").first).to_be_visible()
    _timed(page, "one topic", "/console/topics/team-00.stream-00097")
    _timed(page, "groups", "/console/groups")
    _timed(page, "an ACL's preview", "/console/acls/add?principal=User:carol&resource=TOPIC"
           "&name=team-&pattern=PREFIXED&operation=READ&permission=ALLOW")  # fmt: skip


def test_messages_of_a_megabyte_are_listed_read_and_followed(page: Page, much: Broker) -> None:
    where = "/console/topics/team-00.stream-00000/messages"
    _timed(page, "the newest 20 of 1 MB", f"{where}?limit=20")
    expect(page.locator("#records tr").first).to_contain_text('{"number": 99')
    _timed(page, "the oldest 100 of 1 MB", f"{where}?limit=100&from=oldest")
    assert page.locator("#records tr").count() > 10  # 16 MiB are looked at for one page
    _timed(page, "a text in them", f"{where}?q=%22number%22:+98&limit=20")
    expect(page.locator("#records tr")).to_have_count(1)
    _timed(page, "one of 1 MB", f"{where}/0/50")
    expect(page.get_by_label("Value", exact=True)).to_contain_text('{"number": 50')
    page.goto(where)
    page.get_by_role("button", name="Follow live").click()
    expect(page.locator("#said")).to_have_text("Following: 0 since then.")

    async def write(kafka: Kafka) -> None:
        value = b'{"live": 1}' + b" " * 1_000_000
        await records.produce(kafka, "team-00.stream-00000", 0, [NewRecord(None, value)])

    with_kafka(much, write)
    expect(page.locator("#records tr").first).to_contain_text('{"live": 1}')
