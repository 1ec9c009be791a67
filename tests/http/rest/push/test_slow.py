"""Readers that read nothing: what they cost is bounded, and nobody else waits for them."""

import tracemalloc
from typing import Any, Final

import pytest
import trio
from starlette.types import Message

from kafkapy.http.app import make_app
from kafkapy.http.kafka import records
from kafkapy.testing import Broker
from tests.http.pages import site_of, with_kafka

READERS: Final = 20
RECORD_BYTES: Final = 10_000
ANSWER_BYTES: Final = 256 << 10
PATH: Final = "/api/v1/topics/much/partitions/0/stream"


def test_a_reader_that_reads_nothing_costs_one_answer(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4 MB wait for each of twenty, whose connections take nothing after the head. All have been
    asked for once; another reader gets what it asks for."""
    broker.create_topic("much")
    for _ in range(400):
        broker.produce("much", bytes(RECORD_BYTES))
    asked: list[int] = []
    fetch_from = records.fetch_from

    async def counted(*given: Any, **named: Any) -> Any:
        found = await fetch_from(*given, **named)
        (got,) = found.values()
        assert isinstance(got, records.Fetched)
        asked.append(sum(len(one.value or b"") for one in got.records))
        return found

    monkeypatch.setattr(records, "fetch_from", counted)
    app = make_app(site_of(broker))
    stuck = 0

    async def slow(scope: Any) -> None:
        body = 0

        async def receive() -> Message:
            await trio.sleep_forever()
            raise AssertionError

        async def send(message: Message) -> None:
            nonlocal body, stuck
            body += int(message["type"] == "http.response.body")
            if body == 2:  # the first is the stream's beginning
                stuck += 1
                await trio.sleep_forever()

        await app(scope, receive, send)

    async def work(_: object) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(READERS):
                nursery.start_soon(slow, asked_for(PATH, b"offset=0&as=base64"))
            while stuck < READERS:
                await trio.sleep(0.01)
            size, _peak = tracemalloc.get_traced_memory()
            assert size - before < READERS * 4 * ANSWER_BYTES
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
    assert max(asked) <= ANSWER_BYTES + RECORD_BYTES


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
