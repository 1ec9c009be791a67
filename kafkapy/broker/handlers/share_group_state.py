"""InitializeShareGroupState v0, ReadShareGroupState v0, WriteShareGroupState v0-1,
DeleteShareGroupState v0 and ReadShareGroupStateSummary v0-1: brokers ask the share coordinator.

v1 has how many records behind the start are over. Whoever may not (CLUSTER_ACTION on the cluster)
is told so for each partition: these answers have no other place for it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.groups.asking import ask_each
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.security.authorizer.asking import allows_on_cluster
from kafkapy.broker.share.state_requests import events_in, response_of
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import Operation

if TYPE_CHECKING:
    from typing import Protocol

    from kafkapy.broker.requests.needs import HasAuthorizer, HasShares

    class Needs(HasAuthorizer, HasShares, Protocol): ...


NOT_ALLOWED: Final = Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def handle(node: "Needs", call: "Call[Any]") -> Answer:
    asked = list(events_in(call.api_key, call.body))
    if not allows_on_cluster(node, call, Operation.CLUSTER_ACTION):
        asked = [(topic_id, partition, NOT_ALLOWED) for topic_id, partition, _ in asked]
    places = [(topic_id, partition) for topic_id, partition, _ in asked]

    def translate(replies: Sequence[Any]) -> Fields:
        return response_of(call.api_key, places, replies)

    keyed = [
        ("" if isinstance(event, Refused) else event.key.coordinated_by, event)
        for _, _, event in asked
    ]
    return ask_each(node.shares.shards, keyed, translate)
