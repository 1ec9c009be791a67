"""Quotas where they end: at the sockets of a broker that listens."""

import select
import socket
from typing import Any

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.protocol.framing import frame, request_head
from kafkapy.protocol.messages import encode_request
from kafkapy.testing import Broker

_ABOUT = {"client_software_name": "a", "client_software_version": "1"}


class Wire:
    def __init__(self, broker: Broker) -> None:
        self.socket = socket.create_connection(("127.0.0.1", broker.port), timeout=10)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, api: ApiKey, version: int, body: dict[str, Any]) -> None:
        head = request_head(api, version, 1, "noisy")
        self.socket.sendall(frame(head, encode_request(api, version, body)))

    def hear(self) -> bytes:
        """Whole if it is short, which ours are."""
        return self.socket.recv(65536)

    def greet(self) -> None:
        self.send(ApiKey.API_VERSIONS, 3, _ABOUT)

    @property
    def has_heard(self) -> bool:
        return bool(select.select([self.socket], [], [], 0)[0])


def test_a_throttled_client_is_answered_and_then_not_heard_for_a_while() -> None:
    with Broker() as broker:
        broker.create_topic("orders")
        entity = [{"entity_type": "client-id", "entity_name": "noisy"}]
        ops = [{"key": "producer_byte_rate", "value": 1000, "remove": False}]
        entries = [{"entity": entity, "ops": ops}]
        broker._ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, {"entries": entries, "validate_only": False})
        batch = build_batch([NewRecord(None, bytes(1_000_000), 0)])
        rows = [{"name": "orders", "partition_data": [{"index": 0, "records": batch}]}]
        body = {"transactional_id": None, "acks": 1, "timeout": 1000, "topic_data": rows}
        with Wire(broker) as noisy, Wire(broker) as other:
            noisy.send(ApiKey.PRODUCE, 9, body)
            assert noisy.hear()
            noisy.greet()
            # Whoever is served meanwhile would have been served later.
            for _ in range(3):
                other.greet()
                assert other.hear()
            assert not noisy.has_heard
            broker.clock.advance(seconds=2_000)
            assert noisy.hear()


def test_one_connection_too_many_from_an_address_is_closed() -> None:
    settings = {"max.connections.per.ip": "1"}
    with Broker(settings) as broker, Wire(broker) as first, Wire(broker) as second:
        first.greet()
        assert first.hear()
        assert second.hear() == b""
