"""What being asked costs: ACLs and quotas on the way of a record, TLS, and logins.

The first three are the same row three times, with nothing, an authorizer, a quota: what the second
and third cost is their ratio to the first. TLS and SASL are librdkafka's on a second listener.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.row import APACHE, KAFKAPY, P50, P99, RATE, REQUESTS, Figure, Figures, Row
from bench.rows.quotas import produce_quota
from bench.rows.requests import OneRecord
from bench.run import Run
from compat_tests.waiting import free_port
from kafkapy.broker.config.security.jaas import SCRAM_MODULE
from kafkapy.kraft.acls import Operation, PatternType, Permission, ResourceType
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing.security.certificates import Authority

_AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
    "allow.everyone.if.no.acl.found": "true",
}
_BOTH = (KAFKAPY, APACHE)
_MECHANISM = scram.SHA_256
_USER, _PASSWORD = "alice", "her-secret"
LOGINS = Figure("rate", "connections/s", more_is_better=True)
# Beyond what a core can send: it is counted, and nobody waits.
_NEVER_REACHED = 1e12


@dataclass(frozen=True, slots=True)
class Allowed:
    """As `OneRecord`, by a client that an ACL lets write."""

    load: OneRecord

    def __call__(self, run: Run) -> Figures:
        acl = {
            "resource_type": ResourceType.TOPIC,
            "resource_name": "bench-",
            "resource_pattern_type": PatternType.PREFIXED,
            "principal": "User:ANONYMOUS",
            "host": "*",
            "operation": Operation.ALL,
            "permission_type": Permission.ALLOW,
        }
        answer = run.wire().ask(ApiKey.CREATE_ACLS, 3, {"creations": [acl]})
        assert not answer.results[0].error_code, answer
        return self.load(run)


@dataclass(frozen=True, slots=True)
class Measured:
    """As `OneRecord`, by a client with a quota of bytes that it never reaches."""

    load: OneRecord

    def __call__(self, run: Run) -> Figures:
        with produce_quota(run, _NEVER_REACHED):
            return self.load(run)


@contextmanager
def _secured(run: Run) -> Iterator[dict[str, str]]:
    """A server with TLS and SCRAM on a second listener, and what librdkafka needs for that."""
    directory = run.directory / "certificates"
    directory.mkdir(parents=True, exist_ok=True)
    authority = Authority()
    server = authority.issue("broker", hosts=("localhost", "127.0.0.1"))
    plain, secured, controller = (f"127.0.0.1:{free_port()}" for _ in range(3))
    name = "listener.name.secured"
    properties = {
        "listeners": f"PLAINTEXT://{plain},SECURED://{secured},CONTROLLER://{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        "SECURED:SASL_SSL",
        "controller.quorum.voters": f"1@{controller}",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": _MECHANISM.name,
        f"{name}.{_MECHANISM.name.lower()}.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        f"{name}.ssl.keystore.type": "PEM",
        f"{name}.ssl.keystore.location": str(server.write(directory / "broker.pem")),
    }
    with run.start(properties):
        _add_user(run)
        yield {
            "bootstrap.servers": secured,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": _MECHANISM.name,
            "sasl.username": _USER,
            "sasl.password": _PASSWORD,
            "ssl.ca.location": str(authority.write(directory / "authority.pem")),
        }


def _add_user(run: Run) -> None:
    salt = secrets.token_bytes(16)
    salted = scram.salted_password(_MECHANISM, _PASSWORD, salt, scram.MIN_ITERATIONS)
    row = {"name": _USER, "mechanism": _MECHANISM.type, "iterations": scram.MIN_ITERATIONS}
    row |= {"salt": salt, "salted_password": salted}
    body = {"deletions": [], "upsertions": [row]}
    answer = run.wire().ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, body)
    assert not answer.results[0].error_code, answer


@dataclass(frozen=True, slots=True)
class ThereAndBack:
    """Through librdkafka, to one partition and from it: `rate` of one of the two."""

    is_read: bool
    records: int = 1_000_000
    record_bytes: int = 1024

    def __call__(self, run: Run) -> Figures:
        count = run.records(self.records)
        with _secured(run) as security:
            topic = run.topic()
            with run.costs() as sending:
                sent = run.client(
                    "librdkafka_produce",
                    topic=topic,
                    records=count,
                    record_bytes=self.record_bytes,
                    batch_bytes=1_000_000,
                    acks=1,
                    compression="none",
                    linger_ms=50,
                    security=security,
                )
            if not self.is_read:
                return sending.figures(count, sent["seconds"])
            with run.costs() as reading:
                read = run.client(
                    "librdkafka_consume",
                    topic=topic,
                    records=count,
                    partitions=1,
                    security=security,
                )
            return reading.figures(count, read["seconds"])


@dataclass(frozen=True, slots=True)
class Paced:
    """Acknowledgements of a thousand records a second."""

    rate: int = 1000
    full_seconds: float = 20

    def __call__(self, run: Run) -> Figures:
        seconds = run.seconds(self.full_seconds)
        with _secured(run) as security:
            topic = run.topic()
            with run.costs() as costs:
                found = run.client(
                    "librdkafka_paced",
                    topic=topic,
                    rate=self.rate,
                    seconds=seconds,
                    record_bytes=1024,
                    acks=-1,
                    security=security,
                )
        return {**costs.figures(self.rate * seconds), **found}


@dataclass(frozen=True, slots=True)
class Logins:
    """TLS, SCRAM, one question, and gone; by eight at a time."""

    full_seconds: float = 10

    def __call__(self, run: Run) -> Figures:
        seconds = run.seconds(self.full_seconds)
        with _secured(run) as security, run.costs() as costs:
            found = run.client("logins", seconds=seconds, at_a_time=8, security=security)
        return costs.figures(found["connections"], found["seconds"])


_ONE = OneRecord(32)

ROWS = (
    Row("asked-nothing", "one record a request, 32 connections", _ONE, (REQUESTS, P99), _BOTH),
    Row(
        "asked-acl",
        "the same with an authorizer, by somebody whom an ACL lets write",
        Allowed(_ONE),
        (REQUESTS, P99),
        _BOTH,
        _AUTHORIZER,
        note="What an ACL costs is the ratio to asked-nothing.",
    ),
    Row(
        "asked-quota",
        "the same with a quota that is never reached",
        Measured(_ONE),
        (REQUESTS, P99),
        _BOTH,
        note="What a quota costs is the ratio to asked-nothing.",
    ),
    Row(
        "tls-produce",
        "1 KiB records, over TLS",
        ThereAndBack(False),
        (RATE,),
        _BOTH,
        starts_own=True,
    ),
    Row(
        "tls-consume",
        "consume the same over TLS",
        ThereAndBack(True),
        (RATE,),
        _BOTH,
        starts_own=True,
    ),
    Row("tls-1k", "1,000 records a second over TLS", Paced(), (P50, P99), _BOTH, starts_own=True),
    Row(
        "tls-logins", "connections with TLS and SCRAM", Logins(), (LOGINS,), _BOTH, starts_own=True
    ),
)
