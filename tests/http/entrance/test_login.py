"""Who asks: users of PLAIN and SCRAM by Basic, tokens, certificates; and what they may."""

import ssl
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.beside import Http
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rooms import all_routes
from kafkapy.http.site import principal_of
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker, Cluster
from kafkapy.testing.node.shell import Heard
from kafkapy.testing.security.certificates import Authority
from tests.broker.security.gate import PASSWORD, SETTINGS
from tests.http.pages import HTTP, client_of, with_kafka

SALT = b"the salt of carol"
SASL = {
    **SETTINGS,
    **HTTP,
    "connection.failed.authentication.delay.ms": "1",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:broker",
}


@pytest.fixture(autouse=True)
def a_page_that_says_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    async def who(request: Request) -> Response:
        return Response(principal_of(request))

    monkeypatch.setattr(
        "kafkapy.http.app.all_routes", lambda site: [Route("/who", who), *all_routes(site)]
    )


@pytest.fixture
def secured() -> Iterator[Broker]:
    with Broker(SASL) as broker:
        with_kafka(broker, add_carol, "User:broker")
        yield broker


async def add_carol(kafka: Kafka) -> None:
    salted = scram.salted_password(scram.SHA_512, "her secret: ü", SALT, 4096)
    row = {
        "name": "carol",
        "mechanism": scram.SHA_512.type,
        "iterations": 4096,
        "salt": SALT,
        "salted_password": salted,
    }
    answer = await kafka.ask(
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS, {"deletions": [], "upsertions": [row]}
    )
    assert not answer.results[0].error_code, answer


def token(**claims: Any) -> str:
    parts = [str(one).replace("'", '"').encode() for one in ({"alg": "none"}, claims)]
    return ".".join(urlsafe_b64encode(one).rstrip(b"=").decode() for one in parts) + "."


def test_users_log_in_with_the_passwords_that_kafka_takes(secured: Broker) -> None:
    with client_of(secured) as client:
        assert client.get("/who", auth=("alice", PASSWORD)).text == "User:alice"
        for _ in range(2):  # computed, then remembered
            assert client.get("/who", auth=("carol", "her secret: ü")).text == "User:carol"
        signed = {"authorization": f"Bearer {token(sub='dave', iat=1, exp=9_999_999_999)}"}
        assert client.get("/who", headers=signed).text == "User:dave"


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "Basic YWxpY2U6d3Jvbmc=",  # alice:wrong
        "Basic Y2Fyb2w6d3Jvbmc=",  # carol:wrong
        "Basic bm9ib2R5Og==",  # nobody:
        "Basic ???",
        "Bearer abc",
        "Digest abc",
    ],
)
def test_who_does_not_show_who_it_is_sees_nothing(
    secured: Broker, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    with client_of(secured) as client:
        answer = client.get("/who", headers=headers)
        assert answer.status_code == 401
        ways = ", ".join(answer.headers.get_list("www-authenticate"))
        assert "Basic realm=" in ways
        assert "Bearer realm=" in ways
        assert client.get("/health/live", headers=headers).status_code == 200


def test_a_changed_password_is_not_taken_for_the_old_one(secured: Broker) -> None:
    with client_of(secured) as client:
        assert client.get("/who", auth=("carol", "her secret: ü")).status_code == 200

        async def change(kafka: Kafka) -> None:
            row = {"name": "carol", "mechanism": scram.SHA_512.type}
            await kafka.ask(
                ApiKey.ALTER_USER_SCRAM_CREDENTIALS, {"deletions": [row], "upsertions": []}
            )

        with_kafka(secured, change, "User:broker")
        assert client.get("/who", auth=("carol", "her secret: ü")).status_code == 401


def test_where_nobody_is_asked_credentials_are_refused_and_not_believed() -> None:
    with Broker(HTTP) as broker, client_of(broker) as client:
        assert client.get("/who").text == "User:ANONYMOUS"
        assert client.get("/who", auth=("admin", "admin")).status_code == 401


def test_a_certificate_says_who_asks(tmp_path: Path) -> None:
    authority = Authority()
    server = authority.issue("server", hosts=("127.0.0.1", "localhost"))
    settings = {
        "http.listeners": "https://127.0.0.1:0",
        "listener.name.http.ssl.keystore.type": "PEM",
        "listener.name.http.ssl.keystore.location": str(server.write(tmp_path / "server.pem")),
        "listener.name.http.ssl.truststore.type": "PEM",
        "listener.name.http.ssl.truststore.location": str(authority.write(tmp_path / "ca.pem")),
        "listener.name.http.ssl.client.auth": "requested",
    }
    trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    certified = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    certified.load_cert_chain(str(authority.issue("erin").write(tmp_path / "erin.pem")))
    with Broker(settings) as broker:
        for context, who in (
            (trusting, "User:ANONYMOUS"),
            (certified, "User:CN=erin,O=kafkapy tests"),
        ):
            with httpx.Client(base_url=broker.http, verify=context, trust_env=False) as client:
                assert client.get("/who").text == who


def test_http_is_no_back_door_where_clients_need_certificates(tmp_path: Path) -> None:
    """A node whose only listener wants certificates does not speak HTTP without them."""
    authority = Authority()
    certificate = authority.issue("server", hosts=("127.0.0.1",)).write(tmp_path / "server.pem")
    config = BrokerConfig(
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.listener.names": "CONTROLLER",
            "listeners": "SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
            "security.inter.broker.protocol": "SSL",
            "listener.security.protocol.map": "SSL:SSL,CONTROLLER:PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(certificate),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority.write(tmp_path / "ca.pem")),
            "ssl.client.auth": "required",
            "http.listeners": "http://127.0.0.1:0",
        }
    )
    with pytest.raises(ConfigError, match="have to show a certificate"):
        Http(config, Heard())


@pytest.mark.parametrize("address", ["8080", "ftp://a:1", "http://a", "http://a:x", "http://a:1/b"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with (
        pytest.raises((ConfigError, Exception), match="http://<host>:<port>"),
        Broker({"http.listeners": address}),
    ):
        pass


def test_a_principal_is_refused_by_whichever_node_what_kafka_would_refuse() -> None:
    """A cluster's other nodes are asked under this node's name, which may do everything: what
    its client may not is refused all the same. Twelve partitions are led by all three."""
    settings = {
        **HTTP,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    some = [NewRecord(b"k", b"v", 1)]
    with Cluster(3, settings=settings) as cluster:
        cluster.create_topic("guarded", partitions=12)

        async def refused(kafka: Kafka) -> None:
            for partition in range(12):
                for work in (
                    records.produce(kafka, "guarded", partition, some),
                    records.fetch(kafka, "guarded", partition, 0),
                    records.list_offsets(kafka, "guarded", {partition: records.END}),
                ):
                    with pytest.raises(KafkaError) as caught:
                        await work
                    assert caught.value.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
            for name in ("g1", "g2", "g3", "g4", "g5", "g6"):
                where = TopicPartition("guarded", 0)
                for asked in (
                    groups.commit(kafka, name, {where: 1}),
                    groups.committed(kafka, name),
                ):
                    with pytest.raises(KafkaError) as caught:
                        await asked
                    assert caught.value.code == ErrorCode.GROUP_AUTHORIZATION_FAILED
            assert await groups.list_groups(kafka) == []

        async def allowed(kafka: Kafka) -> None:
            for partition in range(12):
                await records.produce(kafka, "guarded", partition, some)
            await groups.commit(kafka, "g1", {TopicPartition("guarded", 0): 1})
            assert [one.name for one in await groups.list_groups(kafka)] == ["g1"]

        with_kafka(cluster.node(1), allowed)
        with_kafka(cluster.node(1), refused, "User:mallory")
