"""Whether a fetch may read what it wants: consumers by topic, replicas as parts of the cluster.

Asked for every partition of every request, a session's too: what an ACL takes away is gone at
once. Each question is a lookup; without an authorizer none is asked.
"""

from typing import TYPE_CHECKING

from kafkapy.broker.fetch.sessions import Fetching
from kafkapy.broker.requests.request import Call
from kafkapy.broker.security.authorizer.asking import allows, allows_on_cluster
from kafkapy.kraft.acls import Operation, ResourceType

if TYPE_CHECKING:
    from typing import Protocol

    from kafkapy.broker.requests.needs import HasAuthorizer, HasImage
    from kafkapy.protocol.handwritten.fetch_request import FetchRequestView

    class Needs(HasAuthorizer, HasImage, Protocol): ...


def may_replicate(node: "Needs", call: "Call[FetchRequestView]") -> bool:
    return allows_on_cluster(node, call, Operation.CLUSTER_ACTION)


def ask_permission(node: "Needs", call: "Call[FetchRequestView]", fetching: Fetching) -> None:
    """Mark what may not be read. An id that nobody has is no topic: that is what is told."""
    if call.body.replica_id >= 0:
        may = may_replicate(node, call)
        for wanted in fetching.wanted.values():
            wanted.is_denied = not may
        return
    topics = node.image.topics_by_id
    for wanted in fetching.wanted.values():
        name = wanted.topic
        if wanted.topic_id is not None:
            topic = topics.get(wanted.topic_id)
            name = None if topic is None else topic.name
        wanted.is_denied = name is not None and not allows(
            node, call, Operation.READ, ResourceType.TOPIC, name
        )
