"""Topics that are made in a client's name count against its quota of controller mutations."""

from types import SimpleNamespace
from typing import Any

from kafkapy.broker.controller.for_clients import create_topics
from kafkapy.broker.controller.local import LocalController
from kafkapy.broker.quotas.mutations import EXCEEDED
from kafkapy.broker.requests.request import Call, Peer
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.topics.changes import CreateTopics, NewTopic, TopicCreated
from tests.broker.handlers.journal import ToldJournal
from tests.kraft.controller.fakes import Cluster


class Quotas:
    """How many partitions each client has made, of six."""

    def __init__(self) -> None:
        self.made: dict[tuple[str, str | None], int] = {}

    def mutations_left(self, peer: Peer, client_id: str | None, now: object) -> int:
        return 6 - self.made.get((peer.principal, client_id), 0)

    def mutate(self, peer: Peer, client_id: str | None, count: int, now: object) -> int:
        key = (peer.principal, client_id)
        self.made[key] = self.made.get(key, 0) + count
        return 0


def test_partitions_are_charged_to_the_client_and_refused_when_it_has_used_its_quota_up() -> None:
    cluster, quotas = Cluster(brokers=1), Quotas()
    role: Any = SimpleNamespace(
        controller=cluster.controller,
        authorizer=None,
        clock=cluster.clock,
        quotas=quotas,
        journal=ToldJournal(),
        config=SimpleNamespace(num_partitions=1),
        when_serving=lambda topic_ids, then: then(),
    )
    link = LocalController(role)
    peer = Peer("PLAINTEXT", "10.0.0.1", principal="User:app")
    heartbeat: Call[Any] = Call(88, 0, 7, "app-1", None, peer, cluster.clock.now())

    def create(*topics: NewTopic) -> Any:
        replies: list[Any] = []
        create_topics(link, CreateTopics(topics), heartbeat, replies.append)
        (reply,) = replies
        return reply

    first = create(NewTopic("bad", -7, 1), NewTopic("log", 8, 1))
    assert isinstance(first["log"], TopicCreated)
    assert first["bad"].code is ErrorCode.INVALID_PARTITIONS
    assert len(cluster.image.topics_by_name["log"].partitions) == 8
    assert quotas.made == {("User:app", "app-1"): 8}
    second = create(NewTopic("again", 2, 1))["again"]
    assert isinstance(second, Refused)
    assert (second.code, second.message) == (EXCEEDED.code, EXCEEDED.message)
    assert "again" not in cluster.image.topics_by_name
