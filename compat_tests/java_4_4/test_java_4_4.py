"""Kafka's Java clients 4.4.0, newer than the broker: what java_clients/src shows."""

from collections.abc import Iterator

import pytest

from compat_tests import programs
from compat_tests.installation import Unavailable
from compat_tests.java_clients.program import Program, running
from compat_tests.java_clients.rows import CONSUMER_PROTOCOL, TESTS


@pytest.fixture(scope="module")
def program(broker: str) -> Iterator[Program]:
    try:
        with running("4.4.0", broker) as started:
            yield started
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("test", programs.rows({**TESTS, **CONSUMER_PROTOCOL}))
def test_java_4_4(program: Program, topic: str, test: str) -> None:
    assert program.ask(test, topic) == "ok"
