"""Blocks of producer ids."""

from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.controller.producer_ids import AllocateProducerIds, ProducerIdBlock
from kafkapy.kraft.records.metadata import ProducerIdsRecord
from tests.kraft.controller.fakes import Cluster


def test_blocks_follow_one_another_also_after_a_new_leader() -> None:
    cluster = Cluster(brokers=1)
    ask = AllocateProducerIds(1, cluster.image.brokers[1].epoch)
    assert cluster.ask(ask) == ProducerIdBlock(0, 1000)
    assert cluster.ask(ask) == ProducerIdBlock(1000, 1000)
    cluster.controller.resign()
    cluster.controller.lead(cluster.log.image(), ())
    assert cluster.ask(ask) == ProducerIdBlock(2000, 1000)
    last = cluster.log.records[-1]
    assert isinstance(last, ProducerIdsRecord)
    assert last.next_producer_id == 3000


def test_a_stale_broker_gets_none() -> None:
    cluster = Cluster(brokers=1)
    assert cluster.refusal(AllocateProducerIds(1, 99)) is ErrorCode.STALE_BROKER_EPOCH
    assert cluster.refusal(AllocateProducerIds(7, 0)) is ErrorCode.STALE_BROKER_EPOCH


def test_there_is_an_end_to_producer_ids() -> None:
    cluster = Cluster(brokers=1)
    ask = AllocateProducerIds(1, cluster.image.brokers[1].epoch)
    cluster.image.next_producer_id = 2**63 - 1 - 1000
    assert cluster.ask(ask) == ProducerIdBlock(2**63 - 1 - 1000)
    assert cluster.refusal(ask) is ErrorCode.UNKNOWN_SERVER_ERROR
