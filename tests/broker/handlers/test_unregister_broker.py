"""UnregisterBroker in bytes."""

from kafkapy.broker.handlers import unregister_broker
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.admin_node import AdminNode


def test_a_broker_is_forgotten_once() -> None:
    node = AdminNode(brokers=2)
    assert node.request(unregister_broker, 64, 0, broker_id=2).error_code == ErrorCode.NONE
    assert 2 not in node.image.brokers
    again = node.request(unregister_broker, 64, 0, broker_id=2)
    assert again.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert again.error_message == "Broker ID 2 is not currently registered"
