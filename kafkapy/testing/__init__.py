"""A real broker inside your test process: no Docker, no JVM, milliseconds.

    with kafkapy.testing.Broker() as kafka:
        Producer({"bootstrap.servers": kafka.bootstrap}).produce("orders", b"1")
        assert kafka.wait_for("orders", 1)[0].value == b"1"

Names are looked up on first use: the pytest plugin lives in this package and is imported
by every pytest run of everybody who has kafkapy installed, so this module costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkapy.core.errors import ErrorCode as ErrorCode
    from kafkapy.testing.asking.groups import Group as Group
    from kafkapy.testing.asking.groups import Member as Member
    from kafkapy.testing.asking.reading import Record as Record
    from kafkapy.testing.async_broker import AsyncBroker as AsyncBroker
    from kafkapy.testing.broker import Broker as Broker
    from kafkapy.testing.cluster.cluster import Cluster as Cluster
    from kafkapy.testing.gate.faults import Fault as Fault
    from kafkapy.testing.gate.faults import FaultNeverFired as FaultNeverFired
    from kafkapy.testing.gate.requests import Request as Request
    from kafkapy.testing.security.secured import SecuredBroker as SecuredBroker

_HOMES = {
    "AsyncBroker": "kafkapy.testing.async_broker",
    "Broker": "kafkapy.testing.broker",
    "Cluster": "kafkapy.testing.cluster.cluster",
    "ErrorCode": "kafkapy.core.errors",
    "Fault": "kafkapy.testing.gate.faults",
    "FaultNeverFired": "kafkapy.testing.gate.faults",
    "Group": "kafkapy.testing.asking.groups",
    "Member": "kafkapy.testing.asking.groups",
    "Record": "kafkapy.testing.asking.reading",
    "Request": "kafkapy.testing.gate.requests",
    "SecuredBroker": "kafkapy.testing.security.secured",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
