"""Two offices, one topic: each gets what is its own, and no more goes over the wire."""

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from regional import Office, make_view

from kafkapy.testing import Broker

REGIONS = ("eu", "us", "asia")


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("orders", partitions=2)
        yield broker


def place_orders(kafka: Broker, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in numbers:
        order = {
            "number": number,
            "region": REGIONS[number % 3],
            "status": "new" if number % 2 else "settled",
        }
        producer.produce("orders", json.dumps(order), str(number))
    producer.flush(30)


def wanted(region: str, numbers: range) -> list[int]:
    return [one for one in numbers if one % 2 and REGIONS[one % 3] == region]


def test_each_office_gets_the_orders_of_its_region(kafka: Broker) -> None:
    offices = {
        one: Office(kafka.bootstrap, make_view(kafka.bootstrap, "orders", one)) for one in REGIONS
    }
    for numbers in (range(60), range(60, 120)):
        place_orders(kafka, numbers)
        for region, office in offices.items():
            numbers_wanted = wanted(region, numbers)
            orders = [json.loads(one) for one in office.orders(len(numbers_wanted))]
            assert sorted(one["number"] for one in orders) == numbers_wanted
    for office in offices.values():
        office.close()
