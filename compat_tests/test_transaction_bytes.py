"""Transactions on disk: what one server left behind, open, committed and aborted, the other
loads and finishes; and Apache Kafka's dump tool reads ours.

    writer --kill -9--> its directory, copied --> finisher
        committed, aborted, open with offsets       its producer goes on and commits
                            open and abandoned      ours: time aborts it
                                                    Apache Kafka: a new producer of that id does

Apache Kafka 4.3.1 completes a transaction that times out while its broker is still fenced without
writing the markers, in its own directories too, and the last stable offset stays where it was: so
the abandoned one must not time out there.
"""

import re
import shutil
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from compat_tests.confluent_kafka.clients import consumer, create, polled, producer
from compat_tests.installation import Unavailable, require
from compat_tests.oracle import ApacheKafka, run_tool
from compat_tests.targets import APACHE, KAFKAPY, Kafkapy, Server
from compat_tests.waiting import PATIENCE_S, wait_for
from kafkapy.cli.client import Client
from kafkapy.cli.finding import GROUP, TRANSACTION, coordinator
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch

TOPIC = "records"
GROUP_ID = "copiers"
PROPERTIES = {
    "auto.create.topics.enable": "false",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
ABANDONED_AFTER_MS = {KAFKAPY: 3_000, APACHE: 600_000}
_LATER = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


@pytest.fixture(scope="module", autouse=True)
def _apache_kafka_is_here() -> None:
    try:
        require()
    except Unavailable as missing:
        pytest.skip(str(missing))


class Pass(NamedTuple):
    """What a producer needs to know to go on somewhere else."""

    transactional_id: str
    producer_id: int
    epoch: int


class Implicit:
    """A producer of protocol v2 that outlives its broker: no client can be told to."""

    def __init__(self, server: Server, holder: Pass) -> None:
        self._server, self._pass = server, holder

    @classmethod
    def started(cls, server: Server, transactional_id: str, timeout_ms: int) -> "Implicit":
        body = {
            "transactional_id": transactional_id,
            "transaction_timeout": timeout_ms,
            "producer_id": -1,
            "producer_epoch": -1,
        }
        answer = _ask_coordinator(
            server, TRANSACTION, transactional_id, ApiKey.INIT_PRODUCER_ID, 5, body
        )
        return cls(server, Pass(transactional_id, answer.producer_id, answer.producer_epoch))

    @property
    def holder(self) -> Pass:
        return self._pass

    def send(self, partition: int, sequence: int, value: bytes) -> None:
        batch = build_batch(
            [NewRecord(None, value, int(time.time() * 1000))],
            producer_id=self._pass.producer_id,
            producer_epoch=self._pass.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        rows = [{"index": partition, "records": batch}]
        body = {
            "transactional_id": self._pass.transactional_id,
            "acks": -1,
            "timeout": 30_000,
            "topic_data": [{"name": TOPIC, "partition_data": rows}],
        }

        def sent() -> bool:
            with Client(self._server.bootstrap) as client:
                answer = client._ask(ApiKey.PRODUCE, 12, body)
            return _is_done(answer.responses[0].partition_responses[0].error_code)

        wait_for(f"{value!r} is written", sent)

    def commit_offset(self, offset: int) -> None:
        body = {
            **self._who(),
            "group_id": GROUP_ID,
            "topics": [
                {"name": TOPIC, "partitions": [{"partition_index": 0, "committed_offset": offset}]}
            ],
        }

        def committed() -> bool:
            with coordinator(self._server.bootstrap, GROUP, GROUP_ID) as client:
                answer = client._ask(ApiKey.TXN_OFFSET_COMMIT, 5, body)
            return _is_done(answer.topics[0].partitions[0].error_code)

        wait_for("the offset is in the transaction", committed)

    def end(self, *, commit: bool) -> None:
        name = self._pass.transactional_id
        body = {**self._who(), "committed": commit}
        answer = _ask_coordinator(self._server, TRANSACTION, name, ApiKey.END_TXN, 5, body)
        self._pass = Pass(name, answer.producer_id, answer.producer_epoch)

    def _who(self) -> dict[str, Any]:
        return {
            "transactional_id": self._pass.transactional_id,
            "producer_id": self._pass.producer_id,
            "producer_epoch": self._pass.epoch,
        }


def _ask_coordinator(
    server: Server, key_type: int, key: str, api: ApiKey, version: int, body: dict[str, Any]
) -> Any:
    def asked() -> Any:
        with coordinator(server.bootstrap, key_type, key) as client:
            answer = client._ask(api, version, body)
        return answer if _is_done(answer.error_code) else None

    return wait_for(f"{api.name} of {key}", asked)


def _is_done(code: int) -> bool:
    assert code == 0 or code in _LATER, ErrorCode(code).name
    return code == 0


def _fill(server: Server, abandoned_after_ms: int) -> Pass:
    """Explicit and implicit transactions of every fate; who can go on with its own."""
    create(server.bootstrap, TOPIC, partitions=2)
    client = producer(server.bootstrap, {"transactional.id": "explicit"})
    client.init_transactions(PATIENCE_S)
    for number, commits in enumerate((True, False, True, False)):
        client.begin_transaction()
        for partition in (0, 1):
            client.produce(TOPIC, b"explicit-%d" % number, partition=partition)
        client.flush(PATIENCE_S)
        if commits:
            client.commit_transaction(PATIENCE_S)
        else:
            client.abort_transaction(PATIENCE_S)
    implicit = Implicit.started(server, "implicit", 60_000)
    for commits in (True, False):
        implicit.send(0, 0, b"implicit-%s" % (b"kept" if commits else b"dropped"))
        implicit.end(commit=commits)
    resumed = Implicit.started(server, "resumed", 60_000)
    resumed.send(0, 0, b"resumed-1")
    resumed.commit_offset(7)
    client.begin_transaction()
    client.produce(TOPIC, b"explicit-open", partition=1)
    client.flush(PATIENCE_S)
    abandoned = Implicit.started(server, "abandoned", abandoned_after_ms)
    abandoned.send(0, 0, b"abandoned")
    server.stop(how=signal.SIGKILL)
    del client
    return resumed.holder


def _server(kind: str, directory: Path) -> Server:
    if kind == APACHE:
        return ApacheKafka(directory, properties=PROPERTIES)
    return Kafkapy(directory, PROPERTIES)


def _values(server: Server, partition: int, count: int, isolation: str) -> list[bytes | None]:
    with consumer(server.bootstrap, {"isolation.level": isolation}) as client:
        client.assign([TopicPartition(TOPIC, partition, OFFSET_BEGINNING)])
        # What is left open ends by its timeout at the latest.
        return [message.value() for message in polled(client, count, timeout_s=3 * PATIENCE_S)]


def _states(server: Server) -> dict[str, str]:
    """Of every transactional id that the server knows."""
    asked = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1}
    with Client(server.bootstrap) as client:
        answer = client._ask(ApiKey.LIST_TRANSACTIONS, 1, asked)
    if answer.error_code:
        return {}  # still loading
    return {one.transactional_id: one.transaction_state for one in answer.transaction_states}


@pytest.mark.parametrize(("writer", "finisher"), [(APACHE, KAFKAPY), (KAFKAPY, APACHE)])
def test_what_one_server_left_open_the_other_finishes(
    writer: str, finisher: str, tmp_path: Path
) -> None:
    first, second = _server(writer, tmp_path / "first"), _server(finisher, tmp_path / "second")
    first.start()
    try:
        holder = _fill(first, ABANDONED_AFTER_MS[finisher])
    finally:
        first.stop()
    shutil.copytree(first.data, second.data)
    second.start()
    try:
        _finish(second, holder, times_out=finisher == KAFKAPY)
    finally:
        second.stop()


def _finish(server: Server, holder: Pass, *, times_out: bool) -> None:
    wait_for("its transactions are loaded", lambda: len(_states(server)) == 4)
    resumed = Implicit(server, holder)
    resumed.send(0, 1, b"resumed-2")
    resumed.end(commit=True)
    assert resumed.holder == (holder.transactional_id, holder.producer_id, holder.epoch + 1)
    # Their producers are gone: new ones with their ids take over.
    if not times_out:
        Implicit.started(server, "abandoned", 60_000)
    explicit = producer(server.bootstrap, {"transactional.id": "explicit"})
    explicit.init_transactions(PATIENCE_S)
    explicit.begin_transaction()
    explicit.produce(TOPIC, b"explicit-again", partition=1)
    explicit.commit_transaction(PATIENCE_S)

    expected = [b"explicit-0", b"explicit-2"]
    got = _values(server, 0, 5, "read_committed")
    assert got == [*expected, b"implicit-kept", b"resumed-1", b"resumed-2"]
    assert _values(server, 1, 3, "read_committed") == [*expected, b"explicit-again"]
    everything = [b"explicit-%d" % number for number in range(4)]
    assert _values(server, 0, 9, "read_uncommitted") == [
        *everything,
        b"implicit-kept",
        b"implicit-dropped",
        b"resumed-1",
        b"abandoned",
        b"resumed-2",
    ]
    with consumer(server.bootstrap, {"group.id": GROUP_ID}) as client:
        (found,) = client.committed([TopicPartition(TOPIC, 0)], timeout=PATIENCE_S)
    assert found.offset == 7
    abandoned = "CompleteAbort" if times_out else "Empty"
    ended = {"resumed": "CompleteCommit", "abandoned": abandoned}
    wait_for("all is complete", lambda: ended.items() <= _states(server).items())


def test_the_dump_tool_reads_our_transactions(tmp_path: Path) -> None:
    ours = _server(KAFKAPY, tmp_path / "ours")
    ours.start()
    try:
        _fill(ours, ABANDONED_AFTER_MS[KAFKAPY])
    finally:
        ours.stop()
    said = _dumped(ours.data, "__transaction_state-*/*.log", "--transaction-log-decoder")
    states = dict(re.findall(r'"transactionalId":"(\w+)".*"transactionStatus":(\d)', said))
    # Of each id the last record counts: 1 is Ongoing, 5 CompleteAbort (formats/coordinators 3).
    assert states == {"explicit": "1", "implicit": "5", "resumed": "1", "abandoned": "1"}
    said = _dumped(ours.data, f"{TOPIC}-*/*.log", "--print-data-log")
    assert said.count("endTxnMarker: ABORT") == 5
    assert said.count("endTxnMarker: COMMIT") == 5
    said = _dumped(ours.data, f"{TOPIC}-*/*.txnindex")
    assert len(re.findall(r"producerId: \d+ firstOffset: \d+", said)) == 5, said
    said = _dumped(ours.data, "__consumer_offsets-*/*.log", "--offsets-decoder")
    assert re.search(rf'"group":"{GROUP_ID}".*"offset":7', said), said


def _dumped(data: Path, pattern: str, *options: str) -> str:
    files = sorted(str(one) for one in data.glob(pattern) if one.stat().st_size)
    done = run_tool("kafka-dump-log", "--files", ",".join(files), *options)
    assert done.returncode == 0, done.stderr
    assert "isvalid: false" not in done.stdout
    assert not [line for line in done.stderr.splitlines() if "xception" in line], done.stderr
    return done.stdout
