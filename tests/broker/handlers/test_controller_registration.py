"""ControllerRegistration in bytes."""

from uuid import UUID

from kafkapy.broker.handlers import controller_registration
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.records.metadata import Endpoint, FeatureRange
from tests.broker.handlers.admin_node import AdminNode


def test_a_controller_registers() -> None:
    node = AdminNode()
    answer = node.request(
        controller_registration,
        70,
        0,
        controller_id=3000,
        incarnation_id=UUID(int=9),
        zk_migration_ready=False,
        listeners=[{"name": "C", "host": "h", "port": 9093, "security_protocol": 0}],
        features=[
            {"name": "metadata.version", "min_supported_version": 7, "max_supported_version": 30}
        ],
    )
    assert answer.error_code == ErrorCode.NONE
    registered = node.image.controllers[3000]
    assert registered.endpoints == (Endpoint(name="C", host="h", port=9093, security_protocol=0),)
    assert registered.features == (
        FeatureRange(name="metadata.version", min_supported_version=7, max_supported_version=30),
    )
