"""A member of a group that writes down what it is given, across rebalances."""

from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from compat_tests.chaos.timing import TimedRecording
from compat_tests.crashes.consumers import PASSING, Where
from kafkapy.sim.checkers import Assigned, Outcome, Poll, Read
from kafkapy.sim.checkers.history import Step

CLASSIC, CONSUMER = "classic", "consumer"


class GroupReader:
    """Commits what it has read after each poll; `delivered` is what it was given."""

    def __init__(
        self,
        bootstrap: str,
        recording: TimedRecording,
        process: int,
        group: str,
        protocol: str,
        topic: str,
    ) -> None:
        self._recording, self._process = recording, process
        settings: dict[str, object] = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 50,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
        if protocol == CLASSIC:
            settings |= {"partition.assignment.strategy": "cooperative-sticky"}
        self._client = Consumer(settings)
        self._moved: list[TopicPartition] = []
        self._positions: dict[Where, int] = {}
        self._client.subscribe(
            [topic], on_assign=self._changed, on_revoke=self._changed, on_lost=self._changed
        )
        self.delivered: dict[Where, set[str]] = {}

    def keep_reading(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            self.poll()
        self._client.close()

    def poll(self) -> None:
        operation = self._recording.invoke(self._process)
        messages = [one for one in self._client.consume(500, timeout=0.1) if _is_record(one)]
        steps: list[Step] = []
        for moved in self._moved:
            steps.append(Assigned(f"{moved.topic}-{moved.partition}"))
            self._positions.pop((moved.topic, moved.partition), None)
        self._moved = []
        reads: dict[Where, list[Read]] = {}
        for message in messages:
            where = message.topic() or "", message.partition() or 0
            read = Read(message.offset() or 0, (message.value() or b"").decode())
            reads.setdefault(where, []).append(read)
            self.delivered.setdefault(where, set()).add(str(read.value))
        for where, seen in reads.items():
            begin = self._positions.get(where, seen[0].offset)
            self._positions[where] = seen[-1].offset + 1
            steps.append(Poll(f"{where[0]}-{where[1]}", begin, seen[-1].offset + 1, tuple(seen)))
        self._recording.complete(operation, Outcome.OK, steps)
        if reads:
            self._commit(reads)

    def _changed(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._moved += partitions

    def _commit(self, reads: dict[Where, list[Read]]) -> None:
        places = [TopicPartition(*where, seen[-1].offset + 1) for where, seen in reads.items()]
        try:
            self._client.commit(offsets=places, asynchronous=False)
        except KafkaException as failed:
            # What was not committed is delivered again: to us, or to who has it now.
            self._recording.tell(failed.args[0], "commit of a group")


def _is_record(message: Message) -> bool:
    error = message.error()
    if error is None:
        return True
    if error.retriable() or error.code() in PASSING or error.code() in _REJOINS:
        return False
    raise KafkaException(error)


# It joins again by itself.
_REJOINS = {KafkaError._MAX_POLL_EXCEEDED, KafkaError._ASSIGNMENT_LOST}
