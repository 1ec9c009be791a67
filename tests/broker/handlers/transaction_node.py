"""A node with a transaction coordinator and nothing else, spoken to in bytes."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from kafkapy.broker.requests.request import Call, Later, Peer
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.broker.transactions.marker_writer import Marker
from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from tests.broker.transactions.fakes import Coordinating

TOPICS = {"a": 2, "b": 1}


class FakeWriter:
    """Answers at once with what `errors` says, else NONE."""

    def __init__(self) -> None:
        self.written: list[tuple[Marker, TopicPartition]] = []
        self.errors: dict[TopicPartition, ErrorCode] = {}

    def write(self, marker: Marker, partition: TopicPartition, then: Any) -> None:
        self.written.append((marker, partition))
        then(self.errors.get(partition, ErrorCode.NONE))


class FakeImage:
    def __init__(self) -> None:
        self.topics_by_name = {
            name: SimpleNamespace(name=name, id=None, partitions=dict.fromkeys(range(count)))
            for name, count in TOPICS.items()
        }

    def partition_by_name(self, topic: str, index: int) -> Any:
        found = self.topics_by_name.get(topic)
        return SimpleNamespace() if found is not None and index in found.partitions else None


@dataclass
class TransactionNode(Coordinating):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.authorizer: Authorizer | None = None
        self.transactions = self.coordinator
        self.producer_ids = self.ids
        self.image = FakeImage()
        self.marker_writer = FakeWriter()
        self.config = SimpleNamespace(offsets_topic_num_partitions=50)

    def request(self, module: Any, api_key: int, version: int, **body: Any) -> Any:
        """What a client gets: both ways through the bytes of that version."""
        asked = decode_request(api_key, version, encode_request(api_key, version, body))
        peer = Peer("PLAINTEXT", "127.0.0.1")
        node: Any = self
        call = Call(api_key, version, 1, "test", asked, peer, self.clock.now())
        answer = module.handle(node, call)
        if isinstance(answer, Later):
            assert answer.is_resolved, "no answer yet"
            answer = answer.answer
        return decode_response(api_key, version, encode_response(api_key, version, answer))
