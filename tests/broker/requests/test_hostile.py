"""Well-formed nonsense: every API and version with values nobody means, some bits flipped.

The node must go on serving, and no handler may have failed by its own fault.
"""

import dataclasses
import random
import socket
import typing
from uuid import UUID

import pytest
from kio.index import load_request_schema

from kafkapy.broker.requests.apis import APIS, Api
from kafkapy.core.errors import CannotEncode
from kafkapy.protocol.framing import frame, request_head
from kafkapy.protocol.messages import encode_request
from kafkapy.testing import Broker

_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_TEXTS = ("", "t", "kafkapy-hostile", "__consumer_offsets", "../x", "a" * 300, "é", "segment.bytes")
_ROUNDS = 250
# It takes the only broker out of the cluster, as it is asked to.
_LEFT_OUT = frozenset({"UNREGISTER_BROKER"})


class Nonsense:
    """Random values for a request's schema, the edges of each type first."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def request(self, api: Api) -> tuple[int, bytes] | None:
        version = self.random.randint(max(api.min_version, 0), api.max_version)
        try:
            fields = self._struct(load_request_schema(int(api.key), version))
            body = bytearray(encode_request(api.key, version, fields))
        except CannotEncode:
            return None  # not a request that can be written
        if body and self.random.random() < 0.15:
            body[self.random.randrange(len(body))] ^= 1 << self.random.randrange(8)
        return version, bytes(body)

    def _struct(self, schema: type) -> dict[str, object]:
        return {field.name: self._value(field) for field in dataclasses.fields(schema)}

    def _value(self, field: "dataclasses.Field[object]") -> object:
        parts = [field.type, *typing.get_args(field.type)]
        if type(None) in parts and self.random.random() < 0.2:
            return None
        array = next((one for one in parts if typing.get_origin(one) is tuple), None)
        inner = [typing.get_args(array)[0]] if array is not None else parts
        schema = next((one for one in inner if dataclasses.is_dataclass(one)), None)
        kind = field.metadata.get("kafka_type", "")

        def one() -> object:
            return self._struct(typing.cast(type, schema)) if schema else self._primitive(kind)

        if array is None:
            return one()
        return [one() for _ in range(self.random.choice((0, 1, 1, 2, 3)))]

    def _primitive(self, kind: str) -> object:
        choose = self.random.choice
        if kind in _BITS:
            edge = 2 ** _BITS[kind]
            return choose((-edge, -2, -1, 0, 0, 1, 1, 2, 3, 100, edge - 1))
        if kind == "uint16":
            return choose((0, 1, 65535))
        if kind == "string":
            return choose(_TEXTS)
        if kind in ("bytes", "records"):
            return self.random.randbytes(choose((0, 1, 61, 80, 200)))
        if kind == "bool":
            return choose((True, False))
        if kind == "uuid":
            return choose((None, UUID(int=1), UUID(int=self.random.getrandbits(128))))
        if kind.startswith("timedelta"):
            return choose((-1, 0, 1, 100, 2**31 - 1))
        return 0


@pytest.mark.parametrize("seed", range(3))
def test_nonsense_ends_with_the_node_serving(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    nonsense = Nonsense(seed)
    apis = [api for api in APIS if api.on_broker and api.key.name not in _LEFT_OUT]
    with Broker() as kafka:
        for number in range(_ROUNDS):
            api = nonsense.random.choice(apis)
            made = nonsense.request(api)
            if made is not None:
                version, body = made
                _send(kafka, frame(request_head(int(api.key), version, number, "nonsense"), body))
        kafka.create_topic("still-here")
        kafka.produce("still-here", b"yes")
        assert [one.value for one in kafka.records("still-here")] == [b"yes"]
        bugs = [facts for _, event, facts in kafka.events() if event == "bug"]
    assert not bugs, bugs[0]["trace"]


def _send(kafka: Broker, request: bytes) -> None:
    """One request on a connection of its own; an answer, or none, or a closed connection."""
    host, _, port = kafka.bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(request)
        connection.settimeout(0.02)
        try:
            connection.recv(1 << 16)
        except (TimeoutError, ConnectionResetError):
            return
