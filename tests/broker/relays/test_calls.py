"""A node as its own client: over which connections it asks others."""

from typing import Any

import pytest

from kafkapy.broker.relays.calls import NodeCalls
from kafkapy.core.seams import Answered
from kafkapy.protocol.api_keys import ApiKey


class Others:
    """Connections that remember what they were asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def call(
        self, node: int, api_key: int, version: int, body: Any, timeout_ms: int, then: Answered
    ) -> None:
        self.asked.append(api_key)


class _Node:
    node_id = 1


@pytest.mark.parametrize(
    ("api", "may_wait"),
    [
        (ApiKey.PRODUCE, True),
        (ApiKey.TXN_OFFSET_COMMIT, True),
        (ApiKey.INIT_PRODUCER_ID, False),
        (ApiKey.OFFSET_FETCH, False),
        (ApiKey.END_TXN, False),
    ],
)
def test_what_may_wait_there_keeps_no_question_about_its_transaction_waiting(
    api: ApiKey, may_wait: bool
) -> None:
    """Or two nodes that relay to each other wait for each other."""
    others, own, node = Others(), Others(), _Node()
    turn: Any = None
    asked: Any = node
    calls = NodeCalls(asked, others, own, turn, client_id="relay-1", listener="PLAINTEXT")
    calls.call(2, api, 5, {}, 1_000, lambda _: None)
    assert (others.asked, own.asked) == (([], [api]) if may_wait else ([api], []))
