"""One whole broker for the tests of handlers that need logs, topics and groups behind them."""

from collections.abc import Iterator

import pytest

from kafkapy.testing import Broker


@pytest.fixture(scope="package")
def whole_broker() -> Iterator[Broker]:
    """Shared: a test makes topics of its own."""
    with Broker() as broker:
        yield broker
