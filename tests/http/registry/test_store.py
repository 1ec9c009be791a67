"""Two nodes' stores, one of which hears late: what it says no to it would say no to having heard.

What is late is held back until somebody waits for it: who does not wait decides by what is old.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from kafkapy.core.step import Step
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.registry import deleting, registering
from kafkapy.http.registry.entities import Schema, SchemaType
from kafkapy.http.registry.errors import RegistryError
from kafkapy.http.registry.records import Record
from kafkapy.http.registry.registering import Registration
from kafkapy.http.registry.state import State
from kafkapy.http.registry.store import Store
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Cluster
from tests.http.pages import HTTP, link_of

STRING = Schema(SchemaType.AVRO, '"string"')
Decide = Callable[[State], Step[Record, Any]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(2, settings=HTTP) as cluster:
        yield cluster


def connecting(cluster: Cluster, node: int) -> Callable[[], Kafka]:
    link = link_of(cluster.node(node))
    return lambda: Kafka(link, "User:ANONYMOUS", "127.0.0.1")


async def change(store: Store, decide: Decide) -> Any:
    async def decided(state: State) -> tuple[Any, Any]:
        step = decide(state)
        return step.records, step.reply

    return await store.change(decided)


def registers(subject: str) -> Decide:
    return lambda state: registering.decided(state, Registration(subject, STRING), [])


def deletes(subject: str, *, permanently: bool) -> Decide:
    return lambda state: deleting.subject(state, subject, permanently=permanently)


def with_stores(stores: list[Store], work: Callable[[], Awaitable[None]]) -> None:
    """While every store follows its topic."""

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for store in stores:
                nursery.start_soon(store.follow)
            await work()
            nursery.cancel_scope.cancel()

    trio.run(main)


def hold_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads no more until somebody waits for what it would read."""
    is_wanted = trio.Event()
    read, applied = store._read, store._applied

    async def late_read(kafka: Kafka) -> None:
        await is_wanted.wait()
        await read(kafka)

    async def wanted(*asked: Any) -> None:
        is_wanted.set()
        await applied(*asked)

    monkeypatch.setattr(store, "_read", late_read)
    monkeypatch.setattr(store, "_applied", wanted)


def test_who_was_the_last_to_write_says_no_only_after_reading_what_others_wrote(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A has its turn, B takes one and deletes softly; A is asked to delete for good."""
    a, b = (Store(connecting(cluster, node), "_turns") for node in (1, 2))

    async def work() -> None:
        await change(a, registers("s"))
        hold_back(a, monkeypatch)
        # The fetch that waits now still brings something in, and is the last.
        before = a._next_offset
        await change(b, registers("other"))
        while a._next_offset == before:
            await a._moved.wait()
        assert await change(b, deletes("s", permanently=False)) == [1]
        assert a.state.latest("s") is not None
        assert await change(a, deletes("s", permanently=True)) == [1]
        with pytest.raises(RegistryError):
            await change(b, deletes("s", permanently=True))

    with_stores([a, b], work)


class LateKafka(Kafka):
    """Its node's metadata is from before the topic, until what the quorum has was asked for."""

    topic_made_late = ""
    is_behind = True

    @property
    def image(self) -> Any:
        image = super().image
        if not LateKafka.is_behind:
            return image
        topics = dict(image.topics_by_name)
        topics.pop(LateKafka.topic_made_late, None)
        return SimpleNamespace(
            topics_by_name=topics, brokers=image.brokers, topics_by_id=image.topics_by_id, offset=0
        )

    async def ask(self, api: ApiKey, body: Any, version: int | None = None) -> Any:
        answer = await super().ask(api, body, version)
        if api is ApiKey.DESCRIBE_QUORUM:
            LateKafka.is_behind = False
        return answer


def test_a_topic_that_this_node_has_not_heard_of_is_waited_for(cluster: Cluster) -> None:
    """The first schema of all is registered at A; B is asked before it knows the topic."""
    LateKafka.topic_made_late, LateKafka.is_behind = "_late", True
    link = link_of(cluster.node(2))
    a = Store(connecting(cluster, 1), "_late")
    b = Store(lambda: LateKafka(link, "User:ANONYMOUS", "127.0.0.1"), "_late")

    async def work() -> None:
        await change(a, registers("s"))
        assert b.state.latest("s") is None
        assert (await b.caught_up()).latest("s") is not None

    with_stores([a, b], work)


def test_where_there_is_no_topic_nothing_is_registered(cluster: Cluster) -> None:
    store = Store(connecting(cluster, 2), "_none")

    async def work() -> None:
        assert (await store.caught_up()).all_subjects() == []

    with_stores([store], work)
    assert "_none" not in cluster.node(1).topics()
