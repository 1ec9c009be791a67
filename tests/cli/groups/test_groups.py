"""`kafkapy groups` against a real broker in this process."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.cli.client import Client
from kafkapy.cli.groups.reset_plan import Target, new_offsets, target_of
from kafkapy.cli.main import Failed, main
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker


@pytest.fixture(scope="module")
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("orders", partitions=2)
        yield broker


def run(kafka: Broker, *arguments: str) -> int:
    return main(["groups", *arguments, "--bootstrap-server", kafka.bootstrap])


def rows(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def produced(kafka: Broker, count: int) -> None:
    for number in range(count):
        kafka.produce("orders", str(number), key=str(number))


def beat(kafka: Broker, group: str, epoch: int = 0) -> Any:
    """A member that only ever sends this."""
    with Client(kafka.bootstrap) as client:
        return client._ask(
            ApiKey.CONSUMER_GROUP_HEARTBEAT,
            1,
            {
                "group_id": group,
                "member_id": "me",
                "member_epoch": epoch,
                "rebalance_timeout": 60_000,
                "subscribed_topic_names": ["orders"],
                "topic_partitions": [],
            },
        )


def test_a_group_is_reset_described_listed_and_deleted(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    produced(kafka, 20)
    capfd.readouterr()
    everything = ("reset-offsets", "g", "--topic", "orders", "--json")
    assert run(kafka, *everything, "--to-earliest", "--dry-run") == 0
    assert [(one["from"], one["to"]) for one in rows(capfd)] == [(None, 0), (None, 0)]
    assert run(kafka, "describe", "g") == 1
    assert "GROUP_ID_NOT_FOUND" in capfd.readouterr().err

    assert run(kafka, *everything, "--to-latest") == 0
    ends = {one["partition"]: one["to"] for one in rows(capfd)}
    assert sum(ends.values()) == 20
    assert run(kafka, "reset-offsets", "g", "--topic", "orders:0", "--shift-by=-3", "--json") == 0
    assert [(one["from"], one["to"]) for one in rows(capfd)] == [(ends[0], ends[0] - 3)]
    assert run(kafka, "describe", "g", "--json") == 0
    described = rows(capfd)
    assert [(one["partition"], one["lag"], one["member"]) for one in described] == [
        (0, 3, None),
        (1, 0, None),
    ]
    assert run(kafka, "list", "--state", "empty", "--json") == 0
    assert [(one["group"], one["type"]) for one in rows(capfd)] == [("g", "classic")]
    assert run(kafka, "delete", "g") == 0
    assert run(kafka, "list") == 0
    assert "no groups" in capfd.readouterr().out


def test_an_active_group_shows_its_members_and_is_left_alone(
    kafka: Broker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert beat(kafka, "busy").error_code == 0
    assert run(kafka, "describe", "busy") == 0
    told = capfd.readouterr().out
    assert "busy: consumer, Stable, 1 members" in told
    assert told.count(" me ") == 2
    assert run(kafka, "describe", "busy", "--members", "--json") == 0
    (member,) = rows(capfd)
    assert member["partitions"] == ["orders-0", "orders-1"]
    assert run(kafka, "reset-offsets", "busy", "--topic", "orders", "--to-earliest") == 1
    assert "is active: stop its members first" in capfd.readouterr().err
    assert run(kafka, "delete", "busy") == 1
    assert "NON_EMPTY_GROUP" in capfd.readouterr().err
    assert beat(kafka, "busy", -1).error_code == 0
    assert run(kafka, "delete", "busy") == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("reset-offsets", "none", "--to-latest"), "has no offsets: name topics"),
        (("reset-offsets", "g", "--topic", "orders:9", "--to-latest"), "no partition 9"),
        (("reset-offsets", "g", "--topic", "orders:x", "--to-latest"), "expected NAME:0,1,2"),
        (("reset-offsets", "g", "--topic", "orders", "--to-datetime", "soon"), "ISO 8601"),
    ],
)
def test_a_mistake_is_one_line(
    kafka: Broker, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    assert run(kafka, *arguments) == 1
    told = capfd.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("target", "offset"),
    [
        (Target(is_earliest=True), 10),
        (Target(is_latest=True), 90),
        (Target(is_current=True), 50),
        (Target(offset=20), 20),
        (Target(offset=5), 10),
        (Target(offset=500), 90),
        (Target(shift_by=-15), 35),
        (Target(shift_by=1_000), 90),
        (Target(timestamp=7), 60),
    ],
)
def test_new_offsets_stay_within_the_log(target: Target, offset: int) -> None:
    here, gone = ("t", 0), ("gone", 0)
    chosen = new_offsets(target, [here, gone], {here: 50}, {here: 10}, {here: 90}, {here: 60})
    assert chosen == {here: offset}


def test_a_time_after_the_last_record_means_the_end() -> None:
    here = ("t", 0)
    assert new_offsets(Target(timestamp=7), [here], {}, {here: 0}, {here: 9}, {here: -1}) == {
        here: 9
    }


@pytest.mark.parametrize(
    "way", ["--to-datetime=1960-01-01T00:00Z", "--by-duration=1e300", "--by-duration=nan"]
)
def test_times_that_no_record_has_are_refused(way: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["groups", "reset-offsets", "g", way]) == 1
    assert "1970" in capfd.readouterr().err


def test_times_are_given_in_two_ways() -> None:
    options = SimpleNamespace(
        to_earliest=False,
        to_latest=False,
        to_current=False,
        to_offset=None,
        shift_by=None,
        to_datetime="1970-01-01T00:00:01+00:00",
        by_duration=None,
    )
    given: Any = options
    assert target_of(given).timestamp == 1_000
    options.to_datetime, options.by_duration = None, 3600.0
    assert (target_of(given).timestamp or 0) > 1_000
    options.to_datetime = "soon"
    with pytest.raises(Failed):
        target_of(given)
