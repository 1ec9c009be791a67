"""UnregisterBroker in bytes."""

from kafkapy.broker.handlers import unregister_broker
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from tests.broker.handlers.admin_node import AdminNode
from tests.broker.handlers.whole_node import request


def test_a_broker_is_forgotten_once() -> None:
    node = AdminNode(brokers=2)
    assert node.request(unregister_broker, 64, 0, broker_id=2).error_code == ErrorCode.NONE
    assert 2 not in node.image.brokers
    again = node.request(unregister_broker, 64, 0, broker_id=2)
    assert again.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert again.error_message == "Broker ID 2 is not currently registered"


def test_a_broker_that_was_forgotten_stays_so_until_it_is_started_again() -> None:
    """As Apache Kafka 4.3.1: it goes on beating, is told STALE_BROKER_EPOCH, and does not
    register again by itself."""
    with Broker({"broker.heartbeat.interval.ms": "5"}) as broker:
        broker.create_topic("led")
        request(broker, ApiKey.UNREGISTER_BROKER, 0, broker_id=1)
        for _ in range(5000):
            answer = request(broker, ApiKey.METADATA, 12, topics=[{"name": "led"}])
            refused = [1 for _, event, _ in broker.events() if event == "heartbeat refused"]
            if len(refused) >= 3:
                break
        assert len(refused) >= 3
        assert answer.brokers == ()
        assert answer.topics[0].partitions[0].leader_id == -1
