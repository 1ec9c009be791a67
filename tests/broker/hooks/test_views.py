"""Views whose hook has the last word, read by a stock consumer."""

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.hooks import Place, Record, ViewHook
from kafkapy.testing import Broker


class Even(ViewHook):
    def __init__(self) -> None:
        self.seen: list[int] = []

    def shows(self, record: Record, place: Place) -> bool:
        assert place == ("orders", 0)
        self.seen.append(record.offset)
        return record.offset % 2 == 0


class FailsAt7(ViewHook):
    """Until it is mended."""

    def __init__(self) -> None:
        self.is_mended = False

    def shows(self, record: Record, place: Place) -> bool:
        if record.offset == 7 and not self.is_mended:
            raise ValueError("seven")
        return True


class Perhaps(ViewHook):
    def shows(self, record: Record, place: Place) -> bool:
        return 1  # type: ignore[return-value]


even, fails, perhaps = Even(), FailsAt7(), Perhaps()


@pytest.fixture
def kafka() -> Iterator[Broker]:
    even.seen.clear()
    fails.is_mended = False
    with Broker(hooks={"even": even, "fails": fails, "perhaps": perhaps}) as broker:
        broker.create_topic("orders")
        yield broker


def view(kafka: Broker, name: str, **settings: str) -> None:
    config = {"kafkapy.view.of": "orders"}
    config |= {f"kafkapy.{key.replace('_', '.')}": value for key, value in settings.items()}
    kafka.create_topic(name, -1, config)


def fill(kafka: Broker, numbers: range) -> None:
    for number in numbers:
        kafka.produce("orders", json.dumps({"n": number}))


def read(kafka: Broker, topic: str, until: int) -> list[int]:
    """The offsets that are shown, up to the first one that is not below `until`."""
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": topic, "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[int] = []
    while not found or found[-1] < until:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message.offset() or 0)
    consumer.close()
    return found


def test_a_view_shows_what_its_hook_says(kafka: Broker) -> None:
    fill(kafka, range(20))
    view(kafka, "orders.even", hook_view="even")
    assert read(kafka, "orders.even", 18) == list(range(0, 20, 2))


def test_many_readers_cost_one_call_a_record(kafka: Broker) -> None:
    fill(kafka, range(20))
    view(kafka, "orders.even", hook_view="even")
    for _ in range(5):
        assert read(kafka, "orders.even", 18) == list(range(0, 20, 2))
    assert even.seen == list(range(20))


def test_the_hook_sees_what_the_expression_lets_through(kafka: Broker) -> None:
    fill(kafka, range(20))
    view(kafka, "orders.late", view_where="value.n >= 10", hook_view="even")
    assert read(kafka, "orders.late", 18) == list(range(10, 20, 2))
    assert even.seen == list(range(10, 20))


def test_a_hook_without_an_answer_stops_its_view_and_nothing_else(kafka: Broker) -> None:
    """Its consumers wait at that record; once the hook is mended they go on."""
    fill(kafka, range(6))
    view(kafka, "orders.f", hook_view="fails")
    assert read(kafka, "orders.f", 5) == list(range(6))
    fill(kafka, range(6, 12))
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "f", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition("orders.f", 0, 0)])
    found: list[int] = []
    while not any(event == "hook failed" for _, event, _ in kafka._heard.events):
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            found.append(message.offset() or 0)
    assert 7 not in found
    assert read(kafka, "orders", 11) == list(range(12))
    fails.is_mended = True
    while not found or found[-1] < 11:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            found.append(message.offset() or 0)
    consumer.close()
    assert found == list(range(12))


def test_an_answer_that_is_neither_yes_nor_no_is_none(kafka: Broker) -> None:
    fill(kafka, range(2))
    view(kafka, "orders.p", hook_view="perhaps")
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "p"})
    consumer.assign([TopicPartition("orders.p", 0, 0)])
    while not (told := [facts for _, one, facts in kafka._heard.events if one == "hook failed"]):
        message = consumer.poll(0.1)
        assert message is None or message.error() is not None
    consumer.close()
    assert told[0]["topic"] == "orders.p"


@pytest.mark.parametrize("settings", [{"kafkapy.view.of": "orders"}, {"kafkapy.hook.view": "even"}])
def test_a_view_needs_something_that_says_what_it_shows(
    kafka: Broker, settings: dict[str, str]
) -> None:
    with pytest.raises(Refused) as refused:
        kafka.create_topic("v", -1, settings)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
