"""The tools that open files: those of a node, formatted or running, and its metadata."""

import re
import shutil
from pathlib import Path

import pytest

from compat_tests.cluster_tools.conftest import Hold
from compat_tests.cluster_tools.transcript import Told
from compat_tests.oracle import CLUSTER_ID
from compat_tests.waiting import wait_for

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.xdist_group("cluster-tools")]

TOPIC = "shown-in-the-shell"
_PARTITION, _NAME = f"/image/topics/byName/{TOPIC}/0", f"/image/topics/byName/{TOPIC}/name"
_RETENTION = f"/image/configs/TOPIC:{TOPIC}/retention.ms"
SHOWN = (_PARTITION, _NAME, _RETENTION)


def test_storage_tells_what_a_node_has(hold: Hold) -> None:
    def conversation(told: Told) -> None:
        configuration = str(told.cluster.home(2) / "server.properties")
        told.tool("kafka-storage", "info", "-c", configuration, to=None)
        again = ("kafka-storage", "format", "-c", configuration, "-t", CLUSTER_ID)
        told.tool(*again, to=None)
        told.tool(*again, "--ignore-formatted", to=None)
        told.tool("kafka-storage", "version-mapping", to=None)

    assert any("node.id=2" in line for line in hold(conversation))


def test_the_metadata_shell_reads_the_newest_snapshot(hold: Hold) -> None:
    """Of a node that runs: a copy, because the shell wants the directory for itself."""

    def conversation(told: Told) -> None:
        create = ("kafka-topics", "--create", "--topic")
        told.tool(*create, TOPIC, "--replica-assignment", "3:2:1")
        entity = ("--entity-type", "topics", "--entity-name", TOPIC)
        told.tool("kafka-configs", "--alter", *entity, "--add-config", "retention.ms=4711")
        log = told.cluster.data(1) / "__cluster_metadata-0"

        def newest() -> Path | None:
            """The snapshot, if it knows of the topic and its setting."""
            found = sorted(log.glob("*.checkpoint"))
            is_there = found and found[-1].read_bytes().count(TOPIC.encode()) >= 2
            return found[-1] if is_there else None

        # What brings the next snapshot: more records.
        numbers = iter(range(40))
        while newest() is None and (number := next(numbers, None)) is not None:
            told.prepare(*create, f"makes-a-snapshot-{number}", "--partitions", "30")
        snapshot = wait_for("a snapshot has the topic", newest)
        copy = told.scratch / "__cluster_metadata-0"
        copy.mkdir()
        shutil.copy(snapshot, copy)

        def answer() -> str | None:
            """The shell may look before it has read all, whoever wrote the file."""
            said = told.run("kafka-metadata-shell", "-s", str(copy / snapshot.name), "cat", *SHOWN)
            return None if "No such file" in said else said

        told.said += mask(wait_for("the shell has read it", answer)).splitlines()

    said = hold(conversation)
    assert any("replicas=[3, 2, 1]" in line for line in said)
    assert "4711" in said


def mask(text: str) -> str:
    return re.sub(r"directories=[^]]*]", "directories=<ids>", text)
