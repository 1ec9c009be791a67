"""What every unit test shares: the oracle where Java is, and how hypothesis runs."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from compat_tests import installation, oracle
from kafkapy.log import partition_log

# The same examples on every machine: a failure in CI is a failure here. `make test
# HYPOTHESIS=explore` looks for new ones. Deadlines measure the machine, not the code.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS", "steady"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out, with the reason, what cannot run here."""
    left_out = {
        "java": installation.why_not(),
        "interpreted": "kafkapy is compiled" if _is_compiled() else None,
    }
    for item in items:
        for marker, reason in left_out.items():
            if reason is not None and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def _is_compiled() -> bool:
    is_compiled = not partition_log.__file__.endswith(".py")
    assert is_compiled == ("KAFKAPY_COMPILED" in os.environ), partition_log.__file__
    return is_compiled


@pytest.fixture(scope="session")
def apache_kafka_jars() -> installation.Bundle:
    """Apache Kafka's jars, fetched if need be; skips where that cannot be."""
    try:
        return installation.require()
    except installation.Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def apache_kafka(
    tmp_path: Path, apache_kafka_jars: installation.Bundle
) -> Iterator[oracle.ApacheKafka]:
    """A fresh node of Apache Kafka for one test (3 to 5 seconds: mark the test `java`)."""
    with oracle.apache_kafka(tmp_path / "apache-kafka") as kafka:
        yield kafka
