"""What every unit test shares: the oracle where Java is, and how hypothesis runs."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from compat_tests import installation, oracle

# The same examples on every machine: a failure in CI is a failure here. `make test
# HYPOTHESIS=explore` looks for new ones. Deadlines measure the machine, not the code.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS", "steady"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `java` are left out, with the reason, where Apache Kafka cannot run."""
    reason = installation.why_not()
    if reason is None:
        return
    for item in items:
        if item.get_closest_marker("java"):
            item.add_marker(pytest.mark.skip(reason=reason))


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
