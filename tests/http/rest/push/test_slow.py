"""Readers that read nothing: what they cost is bounded, and nobody else waits for them."""

import base64
import gc
import tracemalloc
from typing import Any, Final

import pytest
import trio
from starlette.types import Message

from kafkapy.http.app import make_app
from kafkapy.http.kafka import records
from kafkapy.http.kafka.unread import Unread
from kafkapy.http.rest.push import held
from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of, site_of, with_kafka

READERS: Final = 20
RECORD_BYTES: Final = 10_000
KEPT_BYTES: Final = 1 << 20
# What a reader costs beside: the piece that its connection does not take, as JSON, and its tasks.
EACH_BYTES: Final = 200 << 10
PATH: Final = "/api/v1/topics/much/partitions/0/stream"


def test_readers_that_read_nothing_cost_one_bound_together(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of 1 MB waits for each of twenty, whose connections take nothing after the first
    piece. All have been asked for once; another reader gets what it asks for."""
    broker.create_topic("much")
    value = base64.b64encode(bytes(RECORD_BYTES)).decode()
    batch = {"messages": [{"valueBase64": value}] * 100}
    with client_of(broker) as client:
        written = client.post("/api/v1/topics/much/messages", json=batch)
        assert written.status_code == 200, written.text
    asked: list[int] = []
    fetch_from = records.fetch_from

    async def counted(*given: Any, **named: Any) -> Any:
        found = await fetch_from(*given, **named)
        (got,) = found.values()
        assert isinstance(got, Unread)
        asked.append(got.size)
        return found

    monkeypatch.setattr(records, "fetch_from", counted)
    monkeypatch.setattr(held, "MOST_BYTES", KEPT_BYTES)
    app = make_app(site_of(broker))
    stuck: list[None] = []
    all_are_stuck = trio.Event()

    async def slow(scope: Any) -> None:
        body = 0

        async def receive() -> Message:
            await trio.sleep_forever()
            raise AssertionError

        async def send(message: Message) -> None:
            nonlocal body
            body += int(message["type"] == "http.response.body")
            if body == 2:  # the first is the stream's beginning
                stuck.append(None)
                if len(stuck) == READERS:
                    all_are_stuck.set()
                await trio.sleep_forever()

        await app(scope, receive, send)

    async def work(_: object) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(READERS):
                nursery.start_soon(slow, asked_for(PATH, b"offset=0&as=base64"))
            await all_are_stuck.wait()
            gc.collect()  # what was let go may hang in cycles until then
            size, _peak = tracemalloc.get_traced_memory()
            assert size - before < 2 * KEPT_BYTES + READERS * EACH_BYTES
            told: list[Message] = []

            async def quick(message: Message) -> None:
                told.append(message)

            messages = PATH.replace("/stream", "/messages")
            await app(asked_for(messages, b"limit=1"), trio.sleep_forever, quick)
            assert told[0]["status"] == 200
            nursery.cancel_scope.cancel()

    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        with_kafka(broker, work)
    finally:
        tracemalloc.stop()
    assert len(asked) == READERS
    assert min(asked) > 100 * RECORD_BYTES, "it comes whole"


def test_more_streams_than_may_be_are_refused() -> None:
    with Broker({**HTTP, "http.max.streams": "1"}) as broker, client_of(broker) as client:
        broker.create_topic("much")
        with client.stream("GET", PATH) as first:
            assert first.status_code == 200
            begun = first.iter_text()
            next(begun)
            refused = client.get(PATH)
            assert (refused.status_code, "http.max.streams" in refused.text) == (503, True)
            del begun


def test_many_that_come_at_once_are_no_more_than_may_be() -> None:
    """Eight, of which none has told anything when the next one comes; then there is room again."""
    with Broker({**HTTP, "http.max.streams": "2"}) as broker:
        broker.create_topic("much")
        app = make_app(site_of(broker))
        statuses: list[int] = []

        async def one(all_answered: trio.Event) -> None:
            async def receive() -> Message:
                await all_answered.wait()
                return {"type": "http.disconnect"}

            async def send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    statuses.append(message["status"])
                    if len(statuses) % 8 == 0:
                        all_answered.set()
                await all_answered.wait()

            await app(asked_for(PATH, b""), receive, send)

        async def work(_: object) -> None:
            for _round in range(2):
                all_answered = trio.Event()
                async with trio.open_nursery() as nursery:
                    for _ in range(8):
                        nursery.start_soon(one, all_answered)

        with_kafka(broker, work)
        assert sorted(statuses) == [200] * 4 + [503] * 12


def asked_for(path: str, query: bytes) -> dict[str, Any]:
    """A GET, as an ASGI server hands it over."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "root_path": "",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
