"""AddOffsetsToTxn, v0-4: the group's partition of `__consumer_offsets` joins the transaction.

v2 PRODUCER_FENCED, v4 TRANSACTION_ABORTABLE. Clients of protocol v2 do not send it.
"""

from typing import TYPE_CHECKING, Any

from kafkapy.broker.metadata.internal_topics import CONSUMER_OFFSETS
from kafkapy.broker.requests.request import Answer, Call, Later
from kafkapy.coordinator.partitioning import partition_for
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.txn.events import AddPartitions

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.add_offsets_to_txn.v4.request import AddOffsetsToTxnRequest

    from kafkapy.broker.requests.needs import HasConfig, HasImage, HasTransactions

    class Needs(HasConfig, HasImage, HasTransactions, Protocol): ...


def handle(node: "Needs", call: "Call[AddOffsetsToTxnRequest]") -> Answer:
    body = call.body
    later = Later()

    def added(reply: Any) -> None:
        error = reply.code if isinstance(reply, Refused) else reply.error
        if error is ErrorCode.PRODUCER_FENCED and call.version < 2:
            error = ErrorCode.INVALID_PRODUCER_EPOCH
        later.resolve({"throttle_time": 0, "error_code": error})

    partition = TopicPartition(CONSUMER_OFFSETS, _partition_of(node, body.group_id))
    event = AddPartitions(
        body.transactional_id, body.producer_id, body.producer_epoch, frozenset({partition})
    )
    node.transactions.submit(event, added)
    return later


def _partition_of(node: "Needs", group_id: str) -> int:
    """Clients ask this before they look for the group's coordinator, which is what creates
    the topic: until then it will have as many partitions as the configuration says."""
    topic = node.image.topics_by_name.get(CONSUMER_OFFSETS)
    count = node.config.offsets_topic_num_partitions if topic is None else len(topic.partitions)
    return partition_for(group_id, count)
