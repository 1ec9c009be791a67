"""Streams groups pass between Apache Kafka and kafkapy on the same directory, and go on there.

One member has to give up half of its tasks when its server is stopped. Whoever starts on the
directory shows the group as it was, takes the tasks, and gives them to the other member.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest

from compat_tests.differ.side import Side
from compat_tests.differ.streams_cases import (
    BEAT,
    DESCRIBE,
    FIRST,
    SECOND,
    assigned,
    beating,
    counting,
    described,
    has,
    joining,
    ready_group,
)
from compat_tests.installation import Unavailable, require
from compat_tests.oracle import ApacheKafka
from compat_tests.targets import Kafkapy
from compat_tests.waiting import wait_for

pytestmark = pytest.mark.slow
NAME = "bytes"
GROUP = f"{NAME}-app"


@pytest.fixture(autouse=True)
def _apache_kafka_is_here() -> None:
    try:
        require()
    except Unavailable as missing:
        pytest.skip(str(missing))


def test_a_group_that_apache_kafka_wrote_goes_on_here(tmp_path: Path) -> None:
    kafka = ApacheKafka(tmp_path / "apache")
    kafka.start()
    written = half_moved(kafka.bootstrap)
    kafka.stop()
    ours = Kafkapy(tmp_path / "kafkapy", {})
    shutil.copytree(kafka.data, ours.data)
    ours.start()
    goes_on(ours.bootstrap, written)
    ours.stop()


def test_a_group_that_we_wrote_goes_on_in_apache_kafka(tmp_path: Path) -> None:
    ours = Kafkapy(tmp_path / "kafkapy", {})
    ours.start()
    written = half_moved(ours.bootstrap)
    ours.stop()
    kafka = ApacheKafka(tmp_path / "apache", data=ours.data)
    kafka.start()
    goes_on(kafka.bootstrap, written)
    kafka.stop()


def half_moved(bootstrap: str) -> Any:
    side = Side(bootstrap, BEAT, 0, NAME)
    group, topic = ready_group(side), side.topic(partitions=4)
    assert group == GROUP
    assigned(side, group, topic)
    side.call(BEAT, joining(group, counting(group, topic), SECOND))
    side.call(BEAT, beating(group, FIRST, 3))
    found = essence(side)
    side.close()
    assert found["group_state"] == "Reconciling"
    return found


def goes_on(bootstrap: str, written: Any) -> None:
    side = Side(bootstrap, BEAT, 0, NAME)
    assert wait_for("the group is loaded", lambda: essence(side)) == written
    first = side.call(BEAT, {**beating(GROUP, FIRST, 3), **has([0, 1])})
    assert int(first.error_code) == 0, first
    wait_for("all is where it should be", lambda: is_stable(side))
    side.close()


def is_stable(side: Side) -> bool:
    for member in (FIRST, SECOND):
        epochs = essence(side)["epochs"]
        answer = side.call(BEAT, beating(GROUP, member, epochs[member]))
        assert int(answer.error_code) == 0, answer
    found = essence(side)
    active = [tasks[0]["partitions"] for tasks in found["active"].values() if tasks]
    return found["group_state"] == "Stable" and active == [[0, 1], [2, 3]]


def essence(side: Side) -> Any:
    """What does not depend on who shows it; nothing while it loads."""
    (row,) = side.plain(side.call(DESCRIBE, described(GROUP)))["groups"]
    if row["error_code"] != "NONE":
        return None
    members = sorted(row["members"], key=lambda member: str(member["process_id"]))
    names = {"of first": FIRST, "of second": SECOND}
    return {
        "group_state": row["group_state"],
        "group_epoch": row["group_epoch"],
        "epochs": {names[one["process_id"]]: one["member_epoch"] for one in members},
        "active": {one["process_id"]: one["assignment"]["active_tasks"] for one in members},
        "targets": {one["process_id"]: one["target_assignment"] for one in members},
    }
