"""InitializeShareGroupState v0, ReadShareGroupState v0, WriteShareGroupState v0-1,
DeleteShareGroupState v0 and ReadShareGroupStateSummary v0-1: brokers ask the share coordinator.

v1 has how many records behind the start are over.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.broker.groups.asking import ask_each
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.share.state_requests import events_in, response_of
from kafkapy.core.errors import Refused

if TYPE_CHECKING:
    from kafkapy.broker.requests.needs import HasShares


def handle(node: "HasShares", call: "Call[Any]") -> Answer:
    asked = list(events_in(call.api_key, call.body))
    places = [(topic_id, partition) for topic_id, partition, _ in asked]

    def translate(replies: Sequence[Any]) -> Fields:
        return response_of(call.api_key, places, replies)

    keyed = [
        ("" if isinstance(event, Refused) else event.key.coordinated_by, event)
        for _, _, event in asked
    ]
    return ask_each(node.shares.shards, keyed, translate)
