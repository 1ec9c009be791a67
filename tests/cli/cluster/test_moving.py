"""`kafkapy reassign`, `decommission` and `features` on a cluster of four nodes in two racks, and
the commands that ask the leaders of a topic."""

import io
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy.cli.main import main
from kafkapy.testing import Cluster

RACKS = {1: "a", 2: "b", 3: "a", 4: "b"}
Rows = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def kafka() -> Iterator[Cluster]:
    """Nothing is on broker 4: a plan has something to do."""
    with Cluster(4, {"min.insync.replicas": "1"}, racks=RACKS) as cluster:
        cluster.create_topic("orders", 3, assignment={0: [1, 2], 1: [2, 3], 2: [1, 2]})
        cluster.create_topic("mails", 1, assignment={0: [3]})
        yield cluster


@pytest.fixture(scope="module")
def untouched() -> Iterator[Cluster]:
    """For those who change nothing."""
    with Cluster(2) as cluster:
        cluster.create_topic("mails", 1, assignment={0: [2]})
        yield cluster


@pytest.fixture
def rows(kafka: Cluster, capfd: pytest.CaptureFixture[str]) -> Rows:
    """What a command tells as JSON; it must succeed."""

    def told(*words: str) -> list[dict[str, Any]]:
        capfd.readouterr()
        code = main([*words, "--json", "--bootstrap-server", kafka.bootstrap])
        out, err = capfd.readouterr()
        assert code == 0, err
        return [json.loads(line) for line in out.splitlines()]

    return told


def run(kafka: Cluster, *words: str) -> int:
    return main([*words, "--bootstrap-server", kafka.bootstrap])


def replicas(kafka: Cluster, topic: str) -> dict[int, tuple[int, ...]]:
    found = kafka._image(lambda image: image.topics_by_name[topic].partitions)
    return {index: tuple(one.replicas) for index, one in found.items()}


def levels(kafka: Cluster) -> set[int]:
    """Of transaction.version, as each node has it."""
    return {
        node.on_node(lambda one: one.image.features["transaction.version"])
        for node in kafka._answering()
    }


def held(kafka: Cluster, node_id: int) -> list[str]:
    return [
        f"{topic}-{index}"
        for topic in ("orders", "mails")
        for index, all_ in replicas(kafka, topic).items()
        if node_id in all_
    ]


def test_a_plan_is_shown_and_written_carried_out_and_verified(
    kafka: Cluster, rows: Rows, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = replicas(kafka, "orders")
    file = str(tmp_path / "plan.json")
    planned = rows("reassign", "plan", "--to", file)
    assert rows("reassign", "run", "--dry-run") == planned
    assert replicas(kafka, "orders") == before, "nothing moves yet"
    assert run(kafka, "reassign", "verify", file) == 1
    done = rows("reassign", "run", file, "--throttle", "10MB")
    assert [row["becomes"] for row in done] == [row["becomes"] for row in planned]
    after = replicas(kafka, "orders") | {9: replicas(kafka, "mails")[0]}
    counts = [sum(one in all_ for all_ in after.values()) for one in RACKS]
    assert max(counts) - min(counts) <= 1
    assert all({RACKS[one] for one in all_} == {"a", "b"} for all_ in after.values() if all_[1:])
    assert {row["state"] for row in rows("reassign", "verify", file)} == {"there"}
    assert all(kafka.leader("orders", index) == after[index][0] for index in before)
    assert rows("reassign", "plan") == []
    assert rows("topics", "configs", "orders") == [] or "throttled" not in capfd.readouterr().out


def test_more_and_fewer_replicas(kafka: Cluster, rows: Rows) -> None:
    rows("reassign", "run", "--topic", "mails", "--replication-factor", "3")
    (three,) = replicas(kafka, "mails").values()
    assert len(set(three)) == 3
    assert three[0] == 3, "nobody else has to lead"
    rows("reassign", "run", "--topic", "mails", "--replication-factor", "1")
    assert replicas(kafka, "mails") == {0: (3,)}


def test_what_moves_is_shown_and_cancelled(kafka: Cluster, rows: Rows, tmp_path: Path) -> None:
    """To a broker that is away: it does not arrive."""
    plan = tmp_path / "plan.json"
    wanted = {"topic": "mails", "partition": 0, "replicas": [4]}
    plan.write_text(json.dumps({"version": 1, "partitions": [wanted]}))
    kafka.kill(4)
    assert run(kafka, "reassign", "run", str(plan), "--no-wait") == 0
    (row,) = rows("reassign", "show")
    assert (row["topic"], row["gets"], row["loses"]) == ("mails", [4], [3])
    assert rows("reassign", "cancel") == [{"topic": "mails", "partition": 0}]
    assert replicas(kafka, "mails") == {0: (3,)}
    assert rows("reassign", "show") == rows("reassign", "cancel") == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("plan", "--away-from", "9"), "there is no broker 9; there are 1, 2"),
        (("plan", "--topic", "nobody"), "topic nobody: UNKNOWN_TOPIC_OR_PARTITION"),
        (("plan", "--replication-factor", "2"), "wants a --topic"),
        (("plan", "--topic", "mails", "--replication-factor", "3"), "may have one are 1, 2"),
        (("run", "PLAN", "--topic", "mails"), "a plan says all"),
        (("run", "PLAN"), "gives mails-0 to broker 7, which is not there"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    words: tuple[str, ...],
    told: str,
    untouched: Cluster,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    plan = tmp_path / "plan.json"
    rows = [{"topic": "mails", "partition": 0, "replicas": [7]}]
    plan.write_text(json.dumps({"version": 1, "partitions": rows}))
    assert run(untouched, "reassign", *(str(plan) if one == "PLAN" else one for one in words)) == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert told in line


def test_a_broker_gives_all_away_is_stopped_and_forgotten(
    kafka: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    """Node 3 votes, too: that is refused until voters can change."""
    assert run(kafka, "decommission", "3") == 1
    assert "raise kraft.version" in capfd.readouterr().err
    assert held(kafka, 3) == ["orders-1", "mails-0"]
    upgrade = ("features", "upgrade", "kraft.version=1")
    kafka.wait_for(lambda: run(kafka, *upgrade) == 0, "all voters have told of themselves")
    assert run(kafka, "decommission", "3", "--dry-run") == 0
    assert held(kafka, 3) == ["orders-1", "mails-0"]
    assert run(kafka, "decommission", "3", "--no-wait", "--throttle", "10MB") == 0
    assert held(kafka, 3) == []
    assert "2 voters are left" in capfd.readouterr().err
    codes: list[int] = []
    waits = threading.Thread(target=lambda: codes.append(run(kafka, "decommission", "3")))
    waits.start()
    kafka.stop(3)
    waits.join(30)
    assert codes == [0]
    brokers, settings = kafka._image(lambda image: (set(image.brokers), str(image.configs)))
    assert brokers == {1, 2, 4}
    assert "cordoned" not in settings, "who gets the id some day may hold something"
    assert run(kafka, "decommission", "3") == 1
    assert "there is no broker 3" in capfd.readouterr().err


def test_a_broker_that_is_dead_is_emptied_from_the_others(
    kafka: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of what only it had nothing can be taken: that is said, and nothing is moved."""
    kafka.create_topic("more", 2, assignment={0: [1, 4], 1: [4, 2]})
    kafka.create_topic("lonely", 1, assignment={0: [4]})
    kafka.kill(4)
    kafka.wait_for(lambda: kafka.leader("lonely") == -1, "4 is fenced")
    assert run(kafka, "decommission", "4") == 1
    assert "nobody leads lonely-0" in capfd.readouterr().err
    assert run(kafka, "topics", "delete", "lonely") == 0
    assert run(kafka, "decommission", "4") == 0
    assert 4 not in kafka._image(lambda image: set(image.brokers))
    assert not any(4 in all_ for all_ in replicas(kafka, "more").values())


def test_no_broker_leaves_whose_replicas_have_nowhere_to_go(
    kafka: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    kafka.create_topic("everywhere", 1, 4)
    assert run(kafka, "decommission", "4") == 1
    assert "everywhere-0 should have 4 replicas, and brokers that may have one are 1, 2, 3" in (
        capfd.readouterr().err
    )


def test_features_are_told_lowered_and_raised_again(kafka: Cluster, rows: Rows) -> None:
    """Two levels of metadata.version of which the older lacks nothing that is written here."""
    found = {row["feature"]: row for row in rows("features", "show")}
    assert found["transaction.version"]["finalized"] == "2"
    assert rows("features", "upgrade") == []
    (lower,) = rows("features", "downgrade", "transaction.version=1")
    assert (lower["was"], lower["is"]) == ("2", "1")
    kafka.wait_for(lambda: levels(kafka) == {1}, "all brokers know, whoever is asked next")
    assert rows("features", "upgrade", "--dry-run")[0]["could be"] == "2"
    assert rows("features", "upgrade") == [
        {"feature": "transaction.version", "was": "1", "is": "2"}
    ]


def test_records_go_to_the_leaders_and_come_from_them(
    kafka: Cluster, rows: Rows, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Three partitions, two leaders; then one of the leaders is gone."""
    lines = "".join(f"{one}\n" for one in range(30))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    assert run(kafka, "produce", "orders") == 0
    assert [row["end"] for row in rows("topics", "describe", "orders")] == [10, 10, 10]
    kafka.stop(2)
    kafka.wait_for(lambda: kafka.leader("orders", 1) == 3, "3 leads")
    capfd.readouterr()
    assert run(kafka, "consume", "orders") == 0
    assert sorted(map(int, capfd.readouterr().out.split())) == list(range(30))
