"""Java's producer and a hook that refuses a record: idempotent, as it is by default."""

import pytest

from compat_tests.installation import Bundle
from compat_tests.oracle import run_tool
from kafkapy.hooks import Place, ProduceHook, Record, Refuse, ViewHook
from kafkapy.testing import Broker

pytestmark = pytest.mark.java


class Upper(ProduceHook):
    def produced(self, record: Record, place: Place) -> Record:
        if record.value == b"bomb":
            raise Refuse("a bomb")
        return record._replace(value=(record.value or b"").upper())


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_java_hears_of_a_refusal_and_goes_on(apache_kafka_jars: Bundle, codec: str) -> None:
    """Small batches, several under way at a time. Java says of each record of a refused batch that
    it is not written; all others are, once and in order."""
    lines = [f"line {number}" if number % 5 else "bomb" for number in range(20)]
    with Broker(hooks={"upper": Upper}) as kafka:
        kafka.create_topic("t", config={"kafkapy.hook.produce": "upper"})
        done = run_tool(
            "kafka-console-producer",
            *("--bootstrap-server", kafka.bootstrap, "--topic", "t"),
            *("--compression-codec", codec, "--command-property", "enable.idempotence=true"),
            *("--command-property", "batch.size=1"),
            stdin="\n".join(lines),
        )
        assert done.returncode == 0, done.stderr
        written = [record.value for record in kafka.records("t")]
    told = done.stdout + done.stderr
    assert "InvalidRecordException: a bomb" in told
    assert told.count("Error when sending message") == len(lines) - len(written)
    possible = [line.upper().encode() for line in lines if line != "bomb"]
    assert written == [line for line in possible if line in written]
    assert len(written) >= len(possible) // 2


class FailsTwice(ViewHook):
    def __init__(self) -> None:
        self.failures = 0

    def shows(self, record: Record, place: Place) -> bool:
        if record.offset == 7 and self.failures < 2:
            self.failures += 1
            raise ValueError("seven")
        return True


def test_java_tries_again_where_a_views_hook_has_no_answer(apache_kafka_jars: Bundle) -> None:
    hook = FailsTwice()
    with Broker(hooks={"fails": hook}) as kafka:
        kafka.create_topic("t")
        kafka.create_topic("t.v", -1, {"kafkapy.view.of": "t", "kafkapy.hook.view": "fails"})
        for number in range(12):
            kafka.produce("t", str(number))
        done = run_tool(
            "kafka-console-consumer",
            *("--bootstrap-server", kafka.bootstrap, "--topic", "t.v", "--from-beginning"),
            *("--max-messages", "12", "--timeout-ms", "30000"),
        )
    assert hook.failures == 2
    assert done.stdout.split() == [str(number) for number in range(12)]
