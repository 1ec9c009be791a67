"""AllocateProducerIds in bytes."""

from kafkapy.broker.handlers import allocate_producer_ids
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.admin_node import AdminNode


def test_a_broker_gets_a_block_of_a_thousand() -> None:
    node = AdminNode()
    epoch = node.image.brokers[1].epoch
    for first in (0, 1000):
        answer = node.request(allocate_producer_ids, 67, 0, broker_id=1, broker_epoch=epoch)
        assert (answer.error_code, answer.producer_id_start, answer.producer_id_len) == (
            ErrorCode.NONE,
            first,
            1000,
        )


def test_a_stale_broker_gets_none() -> None:
    answer = AdminNode().request(allocate_producer_ids, 67, 0, broker_id=1, broker_epoch=99)
    assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
