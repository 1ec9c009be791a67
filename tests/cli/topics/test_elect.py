"""`kafkapy topics elect` on five nodes."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkapy.cli.main import main
from kafkapy.testing import Cluster

Elect = Callable[..., tuple[int, list[dict[str, Any]], str]]


@pytest.fixture
def kafka() -> Iterator[Cluster]:
    """Preferred leaders lead again when they are asked to, and not before. 4 and 5 do not vote."""
    settings = {"auto.leader.rebalance.enable": "false", "min.insync.replicas": "1"}
    with Cluster(5, settings) as cluster:
        yield cluster


@pytest.fixture
def elect(kafka: Cluster, capfd: pytest.CaptureFixture[str]) -> Elect:
    """Exit code, rows and errors."""

    def told(*words: str) -> tuple[int, list[dict[str, Any]], str]:
        capfd.readouterr()
        command = ["topics", "elect", *words, "--json", "--bootstrap-server", kafka.bootstrap]
        code = main(command)
        out, err = capfd.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], err

    return told


def test_preferred_replicas_lead_again(kafka: Cluster, elect: Elect) -> None:
    kafka.create_topic("orders", 2, assignment={0: [1, 2], 1: [2, 1]})
    kafka.create_topic("mails", 1, assignment={0: [2, 3]})
    kafka.restart(2)
    kafka.wait_until_whole()
    assert [kafka.leader("orders", 1), kafka.leader("mails")] == [1, 3]
    code, rows, _ = elect("orders", "--partition", "0")
    assert (code, rows) == (0, []), "it leads already"
    code, rows, _ = elect("orders")
    assert (code, rows) == (0, [{"topic": "orders", "partition": 1, "elected": "yes"}])
    assert kafka.leader("orders", 1) == 2
    code, rows, _ = elect()
    assert (code, [row["topic"] for row in rows if row["topic"] == "mails"]) == (0, ["mails"])
    assert kafka.leader("mails") == 2


def test_where_nobody_leads_whoever_is_there_may_be_told_to(kafka: Cluster, elect: Elect) -> None:
    kafka.create_topic("orders", 1, assignment={0: [4, 5]})
    kafka.kill(5)
    kafka.wait_for(lambda: kafka.in_sync("orders") == {4}, "5 is out of sync")
    kafka.kill(4)
    kafka.wait_for(lambda: kafka.leader("orders") == -1, "nobody leads")
    kafka.start(5)
    code, rows, err = elect("orders")
    assert (code, rows) == (1, [])
    assert "orders-0" in err
    code, rows, _ = elect("orders", "--unclean")
    assert (code, [row["partition"] for row in rows]) == (0, [0])
    assert kafka.leader("orders") == 5


def test_an_election_that_failed_is_not_called_needless(
    kafka: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    kafka.create_topic("orders", 1, assignment={0: [4, 3]})
    kafka.kill(4)
    kafka.wait_for(lambda: kafka.leader("orders") == 3, "3 leads")
    command = ["topics", "elect", "orders", "--bootstrap-server", kafka.bootstrap]
    assert main(command) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert "orders-0: PREFERRED_LEADER_NOT_AVAILABLE" in err
    kafka.start(4)
    kafka.wait_until_whole()
    assert main(command) == 0
    capfd.readouterr()
    assert main(command) == 0
    assert capfd.readouterr().out == "no partition needs an election\n"


def test_what_cannot_be_is_told(elect: Elect) -> None:
    assert "no such" in (said := elect("nowhere")[2].lower()) or "unknown" in said
    code, _, err = elect("--unclean")
    assert code == 1
    assert "name the topic" in err
