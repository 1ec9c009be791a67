"""By which names a node may be asked."""

import socket
from urllib.parse import urlsplit

from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of


def test_a_node_knows_its_own_names_and_those_it_is_told() -> None:
    port = 19_092
    settings = {
        **HTTP,
        "advertised.listeners": f"PLAINTEXT://kafka-7.example:{port}",
        "http.allowed.hosts": "kafka",
    }
    with Broker(settings) as broker, client_of(broker) as client:
        own = urlsplit(broker.http).port
        for name in (socket.gethostname(), "kafka-7.example", "kafka", f"KAFKA:{own}"):
            answer = client.get("/health/live", headers={"host": name})
            assert answer.status_code == 200, name
        assert client.get("/health/live", headers={"host": "kafka-8.example"}).status_code == 421
        told = client.get("/health/live", headers={"host": "kafka-8.example"}).json()["detail"]
        assert "http.allowed.hosts" in told


def test_any_name_will_do_where_it_is_said_so() -> None:
    with Broker({**HTTP, "http.allowed.hosts": "*"}) as broker, client_of(broker) as client:
        answer = client.get("/health/live", headers={"host": "whatever.example"})
        assert answer.status_code == 200
