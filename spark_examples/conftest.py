"""One Spark for all the tests; servers, targets and outcomes are those of compat_tests.

python -m pytest -p compat_tests.conftest spark_examples [--target apache|kafkapy|both]
"""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_examples.session import spark_session


def pytest_configure(config: pytest.Config) -> None:
    # Py4J, between Python and the JVM, leaves its sockets to the garbage collector.
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session("tests") as session:
        yield session
