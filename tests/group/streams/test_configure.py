"""Topologies held against topics: numbers of partitions, and what is missing or does not fit."""

from collections.abc import Mapping

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.group.records.streams import StreamsGroupTopologyValue, Subtopology
from kafkapy.group.streams.configure import Configured, StatusCode, configure
from kafkapy.group.streams.topology import topology_from
from tests.group.streams.client import info, part, topology
from tests.group.world import FakeTopics


def configured(wanted: StreamsGroupTopologyValue, **topics: int) -> Configured:
    there = FakeTopics()
    for name, partitions in topics.items():
        there.create(name, partitions)
    return configure(topology_from(wanted), there)


def missing(found: Configured) -> Mapping[str, int]:
    return {topic.name: topic.partitions for topic in found.missing}


def code(found: Configured) -> StatusCode:
    assert found.problem is not None
    return found.problem.code


def test_a_changelog_has_a_partition_for_each_task() -> None:
    wanted = topology(part("0", ["a", "b"], changelogs=[info("log", 0, **{"x.y": "z"})]))
    found = configured(wanted, a=3, b=5)
    assert missing(found) == {"log": 5}
    assert found.missing[0].configs == (("x.y", "z"),)
    assert found.parts["0"].task_count == 5
    assert configured(wanted, a=3, b=5, log=5).is_ready


def test_source_topics_are_not_made() -> None:
    found = configured(topology(part("0", ["a", "b", "c", "d", "e"])), a=1)
    assert code(found) is StatusCode.MISSING_SOURCE_TOPICS
    assert found.problem is not None
    assert found.problem.detail == "Source topics b, c, d and 1 additional topics are missing."
    assert not found.missing


def test_a_repartition_topic_has_as_many_partitions_as_what_it_is_written_from() -> None:
    """However many parts it goes through, in whatever order they are named."""
    parts = [
        part("2", repartitions=[info("r2")], changelogs=[info("log")]),
        part("1", repartitions=[info("r1")], sinks=["r2"]),
        part("0", ["a"], sinks=["r1"]),
    ]
    for order in (parts, parts[::-1]):
        found = configured(topology(*order), a=6)
        assert missing(found) == {"r1": 6, "r2": 6, "log": 6}


def test_a_repartition_topic_may_have_a_number_of_its_own() -> None:
    wanted = topology(
        part("0", ["a"], sinks=["r"]), part("1", repartitions=[info("r", 2)], sinks=["s"]),
        part("2", repartitions=[info("s")]),
    )  # fmt: skip
    assert missing(configured(wanted, a=6)) == {"r": 2, "s": 2}


def test_what_is_read_together_has_as_many_partitions() -> None:
    def joined(own: int) -> Subtopology:
        together = [((0,), (0,))]
        return part("1", ["b"], repartitions=[info("r", own)], together=together)

    wanted = topology(part("0", ["a"], sinks=["r"]), joined(0))
    assert missing(configured(wanted, a=6, b=2)) == {"r": 2}
    wanted = topology(part("0", ["a"], sinks=["r"]), joined(3))
    assert code(configured(wanted, a=6, b=2)) is StatusCode.INCORRECTLY_PARTITIONED_TOPICS
    wanted = topology(part("0", ["a", "b"], together=[((0, 1), ())]))
    assert code(configured(wanted, a=6, b=2)) is StatusCode.INCORRECTLY_PARTITIONED_TOPICS
    assert configured(wanted, a=2, b=2).is_ready


def test_repartition_topics_that_are_read_together_are_as_large_as_the_largest() -> None:
    wanted = topology(
        part("0", ["a"], sinks=["r"]),
        part("1", ["b"], sinks=["s"]),
        part("2", repartitions=[info("r"), info("s")], together=[((), (0, 1))]),
    )
    assert missing(configured(wanted, a=6, b=2)) == {"r": 6, "s": 6}


def test_an_internal_topic_that_is_there_must_fit() -> None:
    wanted = topology(part("0", ["a"], changelogs=[info("log")]))
    assert code(configured(wanted, a=6, log=2)) is StatusCode.INCORRECTLY_PARTITIONED_TOPICS


@pytest.mark.parametrize(
    "wanted",
    [
        topology(part("0", changelogs=[info("log")])),
        topology(part("0", repartitions=[info("r")])),
        topology(
            part("0", repartitions=[info("r")], sinks=["s"]),
            part("1", repartitions=[info("s")], sinks=["r"]),
        ),
    ],
    ids=["reads nothing", "never written", "a loop"],
)
def test_topologies_that_no_topics_make_work(wanted: StreamsGroupTopologyValue) -> None:
    with pytest.raises(Refused) as refused:
        configured(wanted, a=3)
    assert refused.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY


def test_a_long_chain_of_parts_is_gone_through_once() -> None:
    """The last part first: looking at all of them again for each would be 400 million looks."""
    length = 20_000
    parts = [part("0", ["a"], sinks=["r0"])]
    parts += [
        part(str(n), repartitions=[info(f"r{n - 1}")], sinks=[f"r{n}"]) for n in range(1, length)
    ]
    parts.append(part("end", repartitions=[info(f"r{length - 1}")]))
    assert len(missing(configured(topology(*parts[::-1]), a=3))) == length
