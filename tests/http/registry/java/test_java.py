"""Confluent's serializers for Java, version 7.9.5, as they are.

Confluent publishes them in a repository of its own. Apache Pinot's plug-in has them inside, with
the names they were made with, and lies in Maven's central one.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.installation import CONFLUENT_AVRO, Unavailable
from compat_tests.programs import java_program
from kafkapy.testing import Broker
from tests.http.pages import HTTP

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(HTTP) as started:
        yield started


@pytest.fixture(scope="module")
def command() -> list[str]:
    try:
        return java_program(Path(__file__).parent, CONFLUENT_AVRO, "Serdes")
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("test", ["round", "evolution", "client"])
def test_javas_serializers_find_what_they_ask_for(
    broker: Broker, command: list[str], test: str
) -> None:
    topic = f"java-{test}"
    broker.create_topic(topic)
    done = subprocess.run(
        [*command, broker.bootstrap, test, topic, broker.http],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
