"""Records in the console: found, decoded, downloaded, written, followed."""

import json
import re
from collections.abc import Iterator

import httpx2 as httpx
import msgpack
import pytest
from starlette.testclient import TestClient

from kafkapy.http.console import reading
from kafkapy.http.console.decoding import shown
from kafkapy.http.console.filters import Filter
from kafkapy.protocol.batches.records import NewRecord, Record
from kafkapy.testing import Broker
from tests.http.console.filling import OWN, produced


def _offsets(text: str, topic: str) -> list[tuple[int, int]]:
    """(partition, offset) of the rows, in their order."""
    found = re.findall(rf'class="open" href="/console/topics/{topic}/messages/(\d+)/(\d+)"', text)
    return [(int(partition), int(offset)) for partition, offset in found]


def _next(text: str) -> str | None:
    found = re.search(r'rel="next" href="([^"]+)"', text)
    return None if found is None else found[1].replace("&amp;", "&")


def _walk(pages: TestClient, topic: str, query: str) -> Iterator[list[tuple[int, int]]]:
    where = f"/console/topics/{topic}/messages"
    following: str | None = query
    while following is not None:
        text = pages.get(where + following).text
        yield _offsets(text, topic)
        following = _next(text)


@pytest.fixture(scope="module")
def filled(broker: Broker) -> str:
    """Three partitions, 30 records each, in turn by time: value 7 of partition 2 is 2:7."""
    broker.create_topic("filled", partitions=3)
    for partition in range(3):
        some = [
            NewRecord(b"key", b"%d:%d" % (partition, one), one * 1000 + partition)
            for one in range(30)
        ]
        produced(broker, "filled", some, partition=partition)
    return "filled"


def test_the_newest_come_first_and_older_ones_follow(pages: TestClient, filled: str) -> None:
    seen = list(_walk(pages, filled, "?limit=20&partition=1"))
    assert [offset for page in seen for _, offset in page] == list(range(29, -1, -1))
    assert len(seen[0]) == 20


@pytest.mark.parametrize("begin", ["newest", "oldest"])
def test_all_partitions_are_walked_and_none_twice(
    pages: TestClient, filled: str, begin: str
) -> None:
    seen = [row for page in _walk(pages, filled, f"?limit=20&from={begin}") for row in page]
    assert len(seen) == 90
    assert len(set(seen)) == 90


def test_no_partition_is_left_out_of_the_newest(pages: TestClient, filled: str) -> None:
    text = pages.get(f"/console/topics/{filled}/messages?limit=2").text
    assert sorted(_offsets(text, filled)) == [(0, 29), (1, 29), (2, 29)]


def test_records_are_found_by_offset_and_by_time(pages: TestClient, filled: str) -> None:
    where = f"/console/topics/{filled}/messages?partition=1&limit=20"
    by_offset = pages.get(f"{where}&from=offset&offset=25").text
    assert _offsets(by_offset, filled)[0] == (1, 25)
    by_time = pages.get(f"{where}&from=time&time=1970-01-01T00:00:11").text
    assert _offsets(by_time, filled)[0] == (1, 11)
    after_all = pages.get(f"{where}&from=time&time=2100-01-01T00:00").text
    assert _offsets(after_all, filled) == []
    beyond = pages.get(f"{where}&from=offset&offset=99999").text
    assert _offsets(beyond, filled) == []


@pytest.mark.parametrize("begin", ["newest", "oldest"])
def test_a_filter_finds_every_record_with_the_text(
    pages: TestClient, filled: str, begin: str
) -> None:
    seen = [row for page in _walk(pages, filled, f"?q=:7&from={begin}") for row in page]
    assert sorted(seen) == [(0, 7), (1, 7), (2, 7)]


def test_a_filter_that_finds_little_is_pages_that_say_so(
    pages: TestClient, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that may cost no more than a few records goes on where it stopped."""
    monkeypatch.setattr(reading, "_MOST_BYTES", 300)
    monkeypatch.setattr(reading, "_FILTER_STEP", 5)
    first = pages.get(f"/console/topics/{filled}/messages?q=0:3&partition=0").text
    assert "a page looks no further" in first
    seen = list(_walk(pages, filled, "?q=0:3&partition=0"))
    assert len(seen) > 3
    assert sorted(row for page in seen for row in page) == [(0, 3)]


def test_a_filter_over_large_records_stops_in_time(
    pages: TestClient, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page looks through about as much as it may, however large the records are."""
    broker.create_topic("heavy")
    produced(broker, "heavy", [b"%d:" % one + b"x" * 20_000 for one in range(40)])
    monkeypatch.setattr(reading, "_MOST_BYTES", 100_000)
    monkeypatch.setattr(reading, "_STEP_BYTES", 20_000)
    monkeypatch.setattr(reading, "_FIRST_STEP", 2)
    first = pages.get("/console/topics/heavy/messages?q=5:x").text
    assert "1 shown of 5 looked at; a page looks no further" in first
    seen = [row for page in _walk(pages, "heavy", "?q=5:x") for row in page]
    assert seen == [(0, 35), (0, 25), (0, 15), (0, 5)]


@pytest.mark.parametrize("begin", ["newest", "oldest"])
def test_an_expression_finds_what_a_text_cannot(
    pages: TestClient, broker: Broker, begin: str
) -> None:
    topic = f"orders-{begin}"
    broker.create_topic(topic)
    some = [
        NewRecord(b"k", b'{"total": %d}' % one, 1000, (("try", b"%d" % (one % 3)),))
        for one in range(40)
    ]
    produced(broker, topic, [*some, b"not JSON", b'{"total": 99' + b" " * 70_000 + b"}"])
    where = "value.total >= 30 and number(headers.try) = 0"
    page = pages.get(f"/console/topics/{topic}/messages", params={"where": where, "from": begin})
    assert sorted(_offsets(page.text, topic)) == [(0, 30), (0, 33), (0, 36), (0, 39)]
    assert "1 of more than 64 KiB the expression did not look into" in page.text
    assert "value.total &gt;= 30" in page.text
    both = pages.get(f"/console/topics/{topic}/messages", params={"where": where, "q": ":6"})
    assert _offsets(both.text, topic) == []
    wrong = pages.get(f"/console/topics/{topic}/messages", params={"where": "value.total >"})
    assert wrong.status_code == 400
    assert "at character 14" in wrong.text


@pytest.mark.parametrize(
    "headers",
    [
        (("h", b"x" * 70_000),),
        (("n" * 70_000, None),),
        tuple((f"{one}", b"") for one in range(20_000)),
        (("", b""),) * 40_000,
    ],
)
def test_an_expression_looks_at_no_more_for_being_in_headers(
    headers: tuple[tuple[str, bytes | None], ...],
) -> None:
    wanted = Filter("t", where="headers.try = null")
    assert wanted.wants(0, Record(0, 1000, b"k", b"v", ()))
    assert not wanted.wants(0, Record(0, 1000, b"k", b"v", headers))
    assert wanted.left_out == 1


def test_what_a_page_shows_is_had_as_lines_of_json(pages: TestClient, broker: Broker) -> None:
    """Whole, where the page cuts; with the same filters and from the same place."""
    broker.create_topic("had", partitions=2)
    long = "x" * 100_000
    some = [NewRecord(b"k", b'{"n": %d}' % one, 1000 + one, (("h", b"v"),)) for one in range(30)]
    produced(broker, "had", some)
    produced(broker, "had", [NewRecord(None, long.encode(), 5000), b"\xff\x00"], partition=1)
    page = pages.get("/console/topics/had/messages?limit=20&partition=0&from=offset&offset=5").text
    (link,) = re.findall(r'href="([^"]+)" download', page)
    answer = pages.get(link.replace("&amp;", "&"))
    assert answer.headers["content-disposition"] == 'attachment; filename="had.jsonl"'
    lines = [json.loads(one) for one in answer.text.splitlines()]
    assert [(one["topic"], one["partition"], one["offset"]) for one in lines] == [
        ("had", 0, offset) for offset in range(5, 25)
    ]
    assert lines[0]["value"] == {"n": 5}
    assert lines[0]["key"] == "k"
    other = pages.get("/console/topics/had/messages.jsonl?partition=1&from=oldest").text
    binary, whole = map(json.loads, other.splitlines())
    assert whole["value"] == long
    assert (binary["value"], binary["valueEncoding"]) == ("/wA=", "base64")
    found = pages.get("/console/topics/had/messages.jsonl", params={"where": "value.n = 7"})
    assert [json.loads(one)["offset"] for one in found.text.splitlines()] == [7]


def test_a_large_record_is_shown_cut_and_had_whole(pages: TestClient, broker: Broker) -> None:
    broker.create_topic("large")
    value = b"<script>alert(1)</script>" + b"x" * 900_000
    produced(
        broker, "large", [NewRecord(b"\xff\x00", value, 1000, (("h\u00fc", b"v"), ("n", None)))]
    )
    row = pages.get("/console/topics/large/messages").text
    assert "878.9 KiB" in row
    assert "<script>alert" not in row
    assert len(row) < 20_000
    page = pages.get("/console/topics/large/messages/0/0")
    assert "&lt;script&gt;alert" in page.text
    assert "h\u00fc" in page.text
    assert len(page.text) < 80_000
    whole = pages.get("/console/topics/large/messages/0/0/value")
    assert whole.content == value
    assert whole.headers["content-disposition"] == 'attachment; filename="large-0-0.value"'
    assert whole.headers["content-type"] == "application/octet-stream"
    assert pages.get("/console/topics/large/messages/0/0/key").content == b"\xff\x00"
    for nowhere in ("0/1", "5/0", "0/x", "0/0/header"):
        assert pages.get(f"/console/topics/large/messages/{nowhere}").status_code == 404


def test_a_record_is_written_by_hand(pages: TestClient, broker: Broker) -> None:
    broker.create_topic("by-hand", partitions=4)
    where = "/console/topics/by-hand/produce"
    fields = {"key": "k", "value": "one\r\ntwo", "headers": "a: b\r\nc: d", "partition": "2"}
    made = pages.post(where, data=fields, headers=OWN)
    assert made.url.path == "/console/topics/by-hand/messages/2/0", made.text
    assert pages.get("/console/topics/by-hand/messages/2/0/value").content == b"one\ntwo"
    assert "c</td>" in made.text
    by_key = pages.post(where, data={"key": "some key", "value": "v"}, headers=OWN)
    again = pages.post(where, data={"key": "some key", "value": "v"}, headers=OWN)
    first, second = (one.url.path.split("/")[-2:] for one in (by_key, again))
    assert (first[0], int(first[1]) + 1) == (second[0], int(second[1]))
    in_hex = {"value": "00 ff", "encoding": "hex", "partition": "0"}
    assert pages.post(where, data=in_hex, headers=OWN).url.path.endswith("/messages/0/0")
    assert pages.get("/console/topics/by-hand/messages/0/0/value").content == b"\x00\xff"
    tombstone = pages.post(where, data={"key": "k", "null": "1", "partition": "3"}, headers=OWN)
    assert "a tombstone" in tombstone.text
    for bad in ({"value": "x", "encoding": "hex"}, {"headers": "nothing"}, {"partition": "4"}):
        assert pages.post(where, data=bad, headers=OWN).status_code == 400


def test_what_is_written_is_followed_as_it_comes(over_http: httpx.Client, broker: Broker) -> None:
    broker.create_topic("live", partitions=2)
    produced(broker, "live", [b"before"])
    with over_http.stream("GET", "/console/topics/live/tail?q=wanted") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.iter_lines()
        assert next(lines) == "event: open"
        produced(broker, "live", [b"not this", b"wanted one"], partition=1)
        kind = next(line for line in lines if line.startswith("event:"))
        told = json.loads(next(lines).removeprefix("data: "))
    assert kind == "event: record"
    assert (told["partition"], told["offset"], told["value"]) == (1, 1, "wanted one")
    with over_http.stream("GET", "/console/topics/live/tail?where=value.n%20%3D%202") as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: open"
        produced(broker, "live", [b'{"n": 1}', b'{"n": 2}'])
        assert next(line for line in lines if line.startswith("event:")) == "event: record"
        assert json.loads(next(lines).removeprefix("data: "))["value"] == '{"n": 2}'


@pytest.mark.parametrize(
    ("data", "way", "kind", "text"),
    [
        (None, "auto", "null", "null"),
        (b"", "auto", "text", ""),
        (b'{"b": [1, "\xc3\xbc"]}', "auto", "json", '{"b": [1, "\u00fc"]}'),
        (b'{"b": ', "auto", "text", '{"b": '),
        (b'{"a":1}', "text", "text", '{"a":1}'),
        (b'{"a":1}', "hex", "hex", "7b2261223a317d"),
        (b"\xff\xfe\x01", "auto", "hex", "fffe01"),
        (b"a\x00b", "auto", "hex", "610062"),
        (msgpack.packb({"a": [1, b"\x01"]}), "auto", "msgpack", '{"a": [1, "01"]}'),
        (msgpack.packb(7), "msgpack", "msgpack", "7"),
        (b"\x81\xa1", "auto", "hex", "81a1"),
        (b"[" * 60_000, "auto", "text", "[" * 300),
    ],
)
def test_bytes_are_read_as_what_they_are(
    data: bytes | None, way: str, kind: str, text: str
) -> None:
    found = shown(data, way)
    assert (found.kind, found.text) == (kind, text)
    assert found.size == len(data or b"")


def test_a_letter_is_not_cut_into_hex() -> None:
    found = shown("ü".encode() * 1000, most=301)
    assert found.kind == "text"
    assert found.text == "ü" * 301
    assert found.is_cut
