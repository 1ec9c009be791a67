"""Topics that nodes keep something of HTTP's in."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.http.kafka import own_topics
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.kraft.image.image import TOPIC_RESOURCE
from kafkapy.testing import Broker
from tests.http.pages import with_kafka


class Late(Kafka):
    """This node hears of topics at the fourth look."""

    looks = 0

    @property
    def image(self) -> Any:
        self.looks += 1
        known = super().image.topics_by_name if self.looks > 3 else {}
        return SimpleNamespace(brokers=super().image.brokers, topics_by_name=known)


def test_it_is_made_as_it_was_asked_for(broker: Broker) -> None:
    async def work(kafka: Kafka) -> None:
        await own_topics.make(kafka, "own", 3, {"retention.ms": "7000"})
        assert len(kafka.topic("own").partitions) == 3
        assert kafka.image.configs(TOPIC_RESOURCE, "own") == {"retention.ms": "7000"}

    with_kafka(broker, work)


def test_another_node_was_first_and_this_one_has_not_heard_of_it(broker: Broker) -> None:
    broker.create_topic("made-elsewhere")

    async def work(kafka: Kafka) -> None:
        late = Late(kafka.link, kafka.principal, "127.0.0.1")
        await own_topics.make(late, "made-elsewhere", 1, {})
        assert late.topic("made-elsewhere").partitions

    with_kafka(broker, work)


def test_what_cannot_be_made_is_refused(broker: Broker) -> None:
    async def work(kafka: Kafka) -> None:
        await own_topics.make(kafka, "no such name!", 1, {})

    with pytest.raises(KafkaError, match="no such name!"):
        with_kafka(broker, work)
