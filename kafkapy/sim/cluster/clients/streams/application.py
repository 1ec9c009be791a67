"""An application of Kafka Streams: what is the same for all its members.

    words --(0)--> by-word, a repartition topic --(1)--> seen, a store with its changelog

A record goes from a partition of the input to the partition of its own (`partition_of`), and from
there once into the store: what is in the store is passed over. So when all is done the changelogs
have every record that is in the input, each where it belongs, and nothing else. A record that was
passed over by a commit that was not its owner's, or a store that had more than its changelog,
shows there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock
from kafkapy.core.time import Instant
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.clients.actors import Ask
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.promises.streams import StreamsFacts, Task
from kafkapy.sim.world.rng import SimRng

GROUP: Final = "streams"
PARTITIONS: Final = 3
FIRST: Final = "0"
SECOND: Final = "1"
WORDS: Final = "words"
BY_WORD: Final = f"{GROUP}-by-word-repartition"
SEEN: Final = f"{GROUP}-seen-changelog"
INPUTS: Final[Mapping[str, str]] = {FIRST: WORDS, SECOND: BY_WORD}
FIRST_TASKS: Final[tuple[Task, ...]] = tuple((FIRST, index) for index in range(PARTITIONS))
SECOND_TASKS: Final[tuple[Task, ...]] = tuple((SECOND, index) for index in range(PARTITIONS))
SOURCE: Final = tuple(TopicPartition(WORDS, index) for index in range(PARTITIONS))
# Two threads share a process, its memory and its state directory.
MEMBERS: Final = (("alone", 0), ("alone too", 0), ("both", 0), ("both", 1))
_GROUP_RESOURCE: Final = 32


@dataclass(slots=True)
class Store:
    """A task's state in the directory of a process: how far its changelog was read into it."""

    position: int = 0
    values: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Application:
    """`is_calm`: no more accidents; `is_over`: the play ends."""

    clock: Clock
    facts: StreamsFacts
    dice: SimRng
    copies: int
    is_calm: Callable[[], bool]
    is_over: Callable[[], bool]
    stores: dict[tuple[str, Task], Store] = field(default_factory=dict)
    _written: Instant | None = None
    _first_done: Instant | None = None

    def store(self, process: str, task: Task) -> Store:
        return self.stores.setdefault((process, task), Store())

    def is_settled(self, *, is_written: bool) -> bool:
        """Everybody has its tasks, and nothing is left to do: first of the input, once that is
        written, then of what came of it."""
        if not is_written:
            return False
        now = self.clock.now()
        if self._written is None:
            self._written = now
        if self._first_done is None and self._is_done(FIRST_TASKS, self._written):
            self._first_done = now
        return (
            self._first_done is not None
            and self._is_done(SECOND_TASKS, self._first_done)
            and self.facts.is_shared((*FIRST_TASKS, *SECOND_TASKS), SECOND_TASKS)
        )

    def judge(self, words: Iterable[str], seen: Sequence[Iterable[str]]) -> None:
        """`seen`: the keys of each changelog, now that everybody is done."""
        expected: list[set[str]] = [set() for _ in range(PARTITIONS)]
        for word in words:
            expected[partition_of(word)].add(word)
        for index, found in enumerate(map(set, seen)):
            if found != expected[index]:
                raise BrokenPromise(
                    f"{GROUP}: of partition {index}, {sorted(expected[index] - found)} were not "
                    f"processed, and {sorted(found - expected[index])} were nobody's"
                )

    def topology(self) -> dict[str, Any]:
        """As a Java client sends it: numbers of partitions are for the group to find out."""
        repartition = self._topic(BY_WORD, {"cleanup.policy": "delete", "retention.ms": "-1"})
        changelog = self._topic(SEEN, {"cleanup.policy": "compact"})
        first = _part(FIRST, source_topics=[WORDS], repartition_sink_topics=[BY_WORD])
        second = _part(
            SECOND, repartition_source_topics=[repartition], state_changelog_topics=[changelog]
        )
        return {"epoch": 0, "subtopologies": [first, second]}

    def _topic(self, name: str, configs: Mapping[str, str]) -> dict[str, Any]:
        return {
            "name": name,
            "partitions": 0,
            "replication_factor": self.copies,
            "topic_configs": [{"key": key, "value": configs[key]} for key in sorted(configs)],
        }

    def _is_done(self, tasks: Iterable[Task], since: Instant) -> bool:
        return all(self.facts.done.get(task, since) > since for task in tasks)


def partition_of(value: str) -> int:
    """Values are numbered (Clients.new_value)."""
    return int(value[1:]) % PARTITIONS


def drawn_facts(dice: SimRng) -> StreamsFacts:
    return StreamsFacts(GROUP, dice.choice((0, 1, 1)))


def settings_of_group(facts: StreamsFacts) -> Ask:
    standbys = {
        "name": "streams.num.standby.replicas",
        "config_operation": 0,
        "value": str(facts.standbys),
    }
    resource = {
        "resource_type": _GROUP_RESOURCE,
        "resource_name": GROUP,
        "configs": [standbys],
    }
    body = {"resources": [resource], "validate_only": False}
    return Ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body)


def _part(subtopology: str, **said: Any) -> dict[str, Any]:
    return {
        "subtopology_id": subtopology,
        "source_topics": [],
        "source_topic_regex": [],
        "state_changelog_topics": [],
        "repartition_sink_topics": [],
        "repartition_source_topics": [],
        "copartition_groups": [],
        **said,
    }
