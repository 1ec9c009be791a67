"""Time has a quota: whoever has used his up is told by every API, and not heard."""

from typing import Any, cast
from uuid import UUID

from compat_tests.differ.permission_requests import Names, requests
from compat_tests.differ.side import Side, newest
from kafkapy.broker.requests.apis import APIS
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.world.world import World
from tests.broker.quotas.test_charging import ANYBODY, Client, ms, world

__all__ = ["world"]
K = ApiKey
# Between nodes, or before anybody is known: nobody's quota (KIP-124).
EXEMPT = {K.WRITE_TXN_MARKERS, K.SASL_HANDSHAKE, K.SASL_AUTHENTICATE}
# Spoken before anybody is known, so not by this walk.
UNWALKED = {K.SASL_HANDSHAKE, K.SASL_AUTHENTICATE}
# Their answers have no place for it.
UNTOLD = {
    K.DESCRIBE_QUORUM,
    K.INITIALIZE_SHARE_GROUP_STATE,
    K.READ_SHARE_GROUP_STATE,
    K.WRITE_SHARE_GROUP_STATE,
    K.DELETE_SHARE_GROUP_STATE,
    K.READ_SHARE_GROUP_STATE_SUMMARY,
}


class Asker:
    """What the requests of the differ's walk want of a side."""

    def __init__(self, topic_id: UUID) -> None:
        self._topic_id = topic_id

    def topic_id(self, topic: str) -> UUID:
        return self._topic_id

    def produce(self, topic: str, records: bytes, acks: int = -1) -> Any:
        data = [{"index": 0, "records": records}]
        row = {"name": topic, "topic_id": self._topic_id, "partition_data": data}
        body = {"transactional_id": None, "acks": acks, "timeout": 5000}
        return {**body, "topic_data": [row]}


def test_who_has_used_his_time_up_is_told_by_every_api(world: World) -> None:
    client = Client(world)
    topic_id = client.node.image.topics_by_name["orders"].id
    names = Names("walk", "orders")
    client.set_quota(ANYBODY, request_percentage=1)
    asked = [
        one for one in requests(cast("Side", Asker(topic_id)), names) if one.what != "as a replica"
    ]
    untold: set[ApiKey] = set()
    walked: set[ApiKey] = set()
    for one in asked:
        version = newest(one.api) if one.version is None else one.version
        world.clock.advance(20_000)
        overdraw(client)
        assert not client.ears.is_muted
        answer = client.ask(one.api, version, **one.body)
        walked.add(one.api)
        if one.api in EXEMPT:
            assert not client.ears.is_muted, one
        else:
            assert client.ears.is_muted, one
            if hasattr(answer, "throttle_time"):
                assert 0 < ms(answer) <= 1000, (one, version)
            elif version == newest(one.api):
                untold.add(one.api)
    assert untold == UNTOLD
    assert {api.key for api in APIS if api.on_broker} - walked == UNWALKED


def overdraw(client: Client) -> None:
    """All of a window's time, and half of one more."""
    quotas = client.node.quotas
    assert quotas is not None
    time = quotas.account(client.peer, "app").time
    assert time is not None
    time.charge(16, client.node.clock.now())
