"""kafka-streams-groups and kafka-groups, on groups of the streams protocol.

The expected rows are written down once and hold for both servers.
"""

import re
import uuid
from collections.abc import Callable, Iterator

import pytest

from compat_tests.behaviours import covers
from compat_tests.differ.side import Side
from compat_tests.differ.streams_cases import (
    BEAT,
    FIRST,
    assigned,
    beating,
    committed,
    ready_group,
)
from compat_tests.java_tools.tools import failing, tool
from compat_tests.targets import Server
from kafkapy.protocol.api_keys import ApiKey

pytestmark = pytest.mark.slow
GROUPS = "kafka-streams-groups"


@pytest.fixture
def broker(own_server: Callable[[], Server]) -> str:
    """One node: what the member says goes to one connection, whoever coordinates its group."""
    return own_server().bootstrap


@pytest.fixture
def side(broker: str) -> Iterator[Side]:
    made = Side(broker, BEAT, 0, f"tools-{uuid.uuid4().hex[:8]}")
    yield made
    made.close()


@covers("streams-groups", "list-groups", "delete-group")
def test_the_life_of_a_streams_group_as_its_tools_tell_it(broker: str, side: Side) -> None:
    """A member has two tasks; it leaves; offsets are set back, and the group is deleted."""
    group, topic = ready_group(side), side.topic(partitions=2)
    assigned(side, group, topic)
    side.write(topic, b"0", b"1", b"2")
    for partition in (0, 1):
        side.call(ApiKey.OFFSET_COMMIT, committed(group, topic, FIRST, 3, partition), 9)

    def says(name: str, *arguments: str) -> str:
        side.call(BEAT, beating(group, FIRST, 3))  # tools are slow, and members must beat
        return tool(name, broker, *arguments)

    assert group in says(GROUPS, "--list").split()
    said = says("kafka-groups", "--list", "--streams")
    assert re.search(rf"^{group}\s+Streams\s+streams\s*$", said, re.MULTILINE), said
    said = says(GROUPS, "--describe", "--state", "--verbose", "--group", group)
    assert re.search(rf"^{group}\s+\S+\s+\(\d+\)\s+Stable\s+3\s+3\s+1\s*$", said, re.MULTILINE), (
        said
    )
    said = says(GROUPS, "--describe", "--members", "--verbose", "--group", group)
    row = rf"^{group}\s+3\s+0\s+{FIRST}\s+streams\s+3\s+of {FIRST}\s+differ\s+ACTIVE: 0:\[0,1\];"
    assert re.search(row, said, re.MULTILINE), said
    said = says(GROUPS, "--describe", "--offsets", "--group", group)
    assert sorted(lags(said, group, topic))[0] == ("0", "0"), said
    side.call(BEAT, beating(group, FIRST, 3))
    assert "not EMPTY" in failing(GROUPS, broker, "--delete", "--group", group)
    side.call(BEAT, beating(group, FIRST, -1))
    how = ("--reset-offsets", "--input-topic", topic, "--to-earliest", "--execute")
    # The new offsets: of a group without members no lag is shown.
    said = tool(GROUPS, broker, "--group", group, *how)
    assert sorted(lags(said, group, topic)) == [("0", "0"), ("1", "0")], said
    tool(GROUPS, broker, "--group", group, "--delete", "--delete-all-internal-topics")
    assert group not in tool(GROUPS, broker, "--list").split()


def lags(said: str, group: str, topic: str) -> list[tuple[str, str]]:
    """Partition and lag (or offset) as they are shown."""
    return re.findall(rf"^{group}\s+{topic}\s+(\d+)\s+(\d+)\s*$", said, re.MULTILINE)
