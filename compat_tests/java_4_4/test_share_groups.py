"""Kafka's share consumer in Java, of 4.4.0 and of the broker's own release: src/ShareMain.java."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests import programs
from compat_tests.installation import Unavailable
from compat_tests.java_clients.program import Program, running

TESTS: programs.Tests = dict.fromkeys(
    ("implicit", "explicit", "renewed", "limited", "two"), ("share-groups",)
)


@pytest.fixture(scope="module", params=["4.4.0", "4.3.1"])
def program(broker: str, request: pytest.FixtureRequest) -> Iterator[Program]:
    here = Path(__file__).parent
    try:
        with running(request.param, broker, folder=here, main="ShareMain") as started:
            yield started
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("test", programs.rows(TESTS))
def test_share_groups(program: Program, topic: str, test: str) -> None:
    assert program.ask(test, topic) == "ok"
