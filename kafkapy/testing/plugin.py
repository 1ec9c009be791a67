"""The pytest plugin: fixtures `kafka` and `kafka_session`.

Loaded in every pytest run where kafkapy is installed, so it imports nothing but pytest:
the broker's modules are imported when a test first asks for one.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kafkapy.testing.broker import Broker


@pytest.fixture(scope="session")
def kafka_settings() -> dict[str, str]:
    """Kafka's broker settings for the fixtures below; override it to change some."""
    return {}


@pytest.fixture
def kafka(kafka_settings: dict[str, str]) -> "Iterator[Broker]":
    """A broker of its own for each test: empty, real, gone afterwards."""
    from kafkapy.testing.broker import Broker

    with Broker(kafka_settings) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_session(kafka_settings: dict[str, str]) -> "Iterator[Broker]":
    """One broker for the whole run (under xdist: one for each worker)."""
    from kafkapy.testing.broker import Broker

    with Broker(kafka_settings) as broker:
        yield broker
