"""Relays whose hook says what leaves of a record."""

from collections.abc import Iterator

import pytest

from kafkapy.hooks import Place, Record, RelayHook
from kafkapy.testing import Broker


class Shorten(RelayHook):
    """Nothing of what is secret, and of all else ten bytes."""

    def __init__(self) -> None:
        self.is_mended = False

    def relayed(self, record: Record, place: Place) -> Record | None:
        value = record.value or b""
        if value.startswith(b"secret"):
            return None
        if value.startswith(b"broken") and not self.is_mended:
            raise ValueError(value)
        return record._replace(value=value[:10], headers=(*record.headers, ("from", b"hook")))


shorten = Shorten()


@pytest.fixture
def kafka() -> Iterator[Broker]:
    shorten.is_mended = False
    with Broker(hooks={"shorten": shorten}) as broker:
        broker.create_topic("short")
        yield broker


def source(kafka: Broker, **more: str) -> None:
    config = {"kafkapy.relay.to": "short", "kafkapy.hook.relay": "shorten"}
    config |= {f"kafkapy.relay.{key.replace('_', '.')}": one for key, one in more.items()}
    kafka.create_topic("long", config=config)


def test_a_relay_moves_what_its_hook_makes_of_a_record(kafka: Broker) -> None:
    source(kafka)
    for value in ("a long story", "secret", "another story"):
        kafka.produce("long", value, "key", {"a": "b"})
    records = kafka.wait_for("short", 2, timeout=30)
    assert [one.value for one in records] == [b"a long sto", b"another st"]
    assert records[0].key == b"key"
    assert records[0].headers == (("a", b"b"), ("from", b"hook"))


def test_a_delayed_record_is_changed_when_it_leaves(kafka: Broker) -> None:
    source(kafka, delay_ms="50", where="key is null")
    for number in range(200):
        kafka.produce("long", f"{number:03} and so on", None if number % 2 else "key")
    records = kafka.wait_for("short", 100, timeout=30)
    assert sorted(one.value or b"" for one in records) == [
        b"%03d and so" % number for number in range(1, 200, 2)
    ]


def test_a_hook_without_an_answer_holds_its_relay_up_and_nothing_is_lost(kafka: Broker) -> None:
    source(kafka)
    sent = ["one", "two", "broken one", "three", "secret", "four"]
    for value in sent:
        kafka.produce("long", value)
    while not any(event == "hook failed" for _, event, _ in kafka._heard.events):
        kafka.produce("elsewhere", "others go on")
    assert all(one.value != b"three" for one in kafka.records("short"))
    shorten.is_mended = True
    records = kafka.wait_for("short", 5, timeout=30)
    assert [one.value for one in records] == [b"one", b"two", b"broken one", b"three", b"four"]
