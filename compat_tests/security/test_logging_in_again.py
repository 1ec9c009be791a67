"""Sessions end after SESSION_MS (`connections.max.reauth.ms`): who logs in again on its connection
goes on, who does not is hung up on, on both servers. KIP-368."""

import json
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from compat_tests.behaviours import covers
from compat_tests.differ.side import Closed
from compat_tests.security import raw
from compat_tests.security.servers import MECHANISMS, SESSION_MS, Secured, Way
from compat_tests.security.test_confluent_kafka import settings
from compat_tests.security.test_other_clients import made, ran
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey

# One server of each kind serves them all.
pytestmark = [
    pytest.mark.xdist_group("secured"),
    pytest.mark.client("confluent_kafka"),
    covers("login-again"),
]
__all__ = ["made"]
LOGINS = 4


class Connections:
    """What librdkafka tells of those of one client."""

    def __init__(self) -> None:
        self._brokers: dict[str, Any] = {}

    def heard(self, text: str) -> None:
        self._brokers = json.loads(text)["brokers"]

    @property
    def logins(self) -> int:
        """Of the connection that has logged in most often."""
        counts = [one["req"].get("SaslHandshake", 0) for one in self._brokers.values()]
        return max(counts, default=0)

    @property
    def disconnects(self) -> int:
        return sum(one["disconnects"] for one in self._brokers.values())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_records_flow_while_sessions_end_and_are_renewed(
    secured: Secured, topic: str, group: str, mechanism: str
) -> None:
    """One record after the other, until both clients have logged in several times; on the
    connections that they had."""
    seen = Connections(), Connections()
    given = settings(secured, Way("BRIEF", mechanism), statistics_interval_ms=200)
    producer = Producer({**given, "stats_cb": seen[0].heard})
    reading = {"group.id": group, "auto.offset.reset": "earliest", "stats_cb": seen[1].heard}
    consumer = Consumer({**given, **reading})
    producer.produce(topic, b"0")
    assert producer.flush(30) == 0
    consumer.subscribe([topic])
    sent, got = 1, 0

    def have_all_logged_in() -> bool:
        nonlocal sent, got
        producer.produce(topic, b"%d" % sent)
        sent += 1
        producer.poll(0)
        for one in consumer.consume(100, 0.05):
            assert one.error() is None, one.error()
            assert one.value() == b"%d" % got
            got += 1
        return all(one.logins >= LOGINS for one in seen)

    wait_for("both have logged in several times", have_all_logged_in)
    assert producer.flush(30) == 0

    def all_are_here() -> bool:
        nonlocal got
        for one in consumer.consume(100, 0.2):
            assert one.value() == b"%d" % got
            got += 1
        return got == sent

    wait_for("the records", all_are_here)
    assert [one.disconnects for one in seen] == [0, 0]
    consumer.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "client",
    [
        pytest.param("Java 3.9", marks=pytest.mark.client("java_3_9")),
        pytest.param("Java 4.4", marks=pytest.mark.client("java_4_4")),
    ],
)
def test_javas_clients_log_in_again_on_the_connections_that_they_have(
    secured: Secured, client: str, made: str, tmp_path: Path
) -> None:
    """The program counts its logins by the clients' own metrics, and connections that ended."""
    way = Way("BRIEF", "SCRAM-SHA-256")
    done = ran(client, secured, way, made, tmp_path, program="Renewals")
    assert done.returncode == 0, done.stdout + done.stderr


def test_who_does_not_log_in_again_is_hung_up_on(secured: Secured) -> None:
    with closing(raw.side(secured, "BRIEF")) as who:
        lifetime = raw.log_in(who).session_lifetime
        assert timedelta() < lifetime <= timedelta(milliseconds=SESSION_MS)

        def is_over() -> bool:
            try:
                who.call(ApiKey.METADATA, {"topics": []})
            except Closed:
                return True
            return False

        assert not is_over()
        wait_for("the connection is closed", is_over)


def test_who_fails_to_log_in_again_is_hung_up_on(secured: Secured) -> None:
    with closing(raw.side(secured, "BRIEF")) as who:
        raw.log_in(who)
        again = raw.log_in(who, password="another")
        assert again.error_code.name == "SASL_AUTHENTICATION_FAILED"
        with pytest.raises(Closed):
            who.call(ApiKey.METADATA, {"topics": []})


def test_where_sessions_do_not_end_none_is_told_an_end(secured: Secured) -> None:
    with closing(raw.side(secured, "SASL_PLAINTEXT")) as who:
        assert raw.log_in(who).session_lifetime == timedelta()
