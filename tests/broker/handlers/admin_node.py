"""A node with an active controller and nothing else, spoken to in bytes."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.rules import BrokerConfigRules
from kafkapy.broker.controller.dead_brokers import DeadBrokers
from kafkapy.broker.quotas.client_quotas import ClientQuotas
from kafkapy.broker.requests.dispatch import refusal
from kafkapy.broker.requests.request import Call, Later, Peer
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.core.errors import Refused
from kafkapy.core.network import NoNetwork
from kafkapy.kraft.image.image import BROKER_RESOURCE, MetadataImage
from kafkapy.protocol.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from tests.broker.config.kafka import kafkas_config
from tests.broker.handlers.journal import ToldJournal
from tests.kraft.controller.fakes import Cluster


class AdminNode:
    """Node 1 of a cluster of `brokers`; what is committed counts at once."""

    def __init__(self, brokers: int = 1, config: BrokerConfig | None = None) -> None:
        self.config = kafkas_config() if config is None else config
        self.cluster = Cluster(brokers, rules=BrokerConfigRules(self.config), node_id=1)
        self.controller = self.cluster.controller
        self.clock = self.cluster.clock
        self.node_id = 1
        self.authorizer: Authorizer | None = None
        self.quotas: ClientQuotas | None = None
        self.serves_at_once = True
        self.journal = ToldJournal()
        self.waiting: list[Callable[[], None]] = []
        self.dead_brokers = DeadBrokers(
            self.controller, NoNetwork(), self.clock, node_id=1, heartbeat_ms=2000
        )

    @property
    def image(self) -> MetadataImage:
        image = self.controller.image
        self.config.alter(
            cluster=image.configs(BROKER_RESOURCE, ""), broker=image.configs(BROKER_RESOURCE, "1")
        )
        return image

    def when_serving(self, topic_ids: Iterable[UUID], then: Callable[[], None]) -> None:
        if self.serves_at_once:
            then()
        else:
            self.waiting.append(then)

    def ask(self, module: Any, api_key: int, version: int, **body: Any) -> Later:
        """The answer, perhaps not there yet, as the client would decode it."""
        asked = decode_request(api_key, version, encode_request(api_key, version, body))
        peer = Peer("PLAINTEXT", "127.0.0.1")
        node: Any = self
        call = Call(api_key, version, 1, "test", asked, peer, self.clock.now())
        promise = Later()

        def answered(answer: Any) -> None:
            data = encode_response(api_key, version, answer)
            promise.resolve(decode_response(api_key, version, data))

        try:
            answer = module.handle(node, call)
        except Refused as refused:
            answer = refusal(call, refused)
        if isinstance(answer, Later):
            answer.when_resolved(lambda later: answered(later.answer))
        else:
            answered(answer)
        return promise

    def request(self, module: Any, api_key: int, version: int, **body: Any) -> Any:
        later = self.ask(module, api_key, version, **body)
        assert later.is_resolved, "no answer yet"
        return later.answer
