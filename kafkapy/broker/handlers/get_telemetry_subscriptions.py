"""GetTelemetrySubscriptions, v0 (KIP-714): which metrics a client is to push, and how often.

A client that has no id yet gets one. Served where somebody looks at what is pushed.
"""

from typing import TYPE_CHECKING, Protocol

from kafkapy.broker.requests.request import Answer, Call, Hangup
from kafkapy.broker.telemetry.telemetry import ACCEPTED, NOBODY, RESERVED, Telemetry
from kafkapy.core.errors import ErrorCode, Refused

if TYPE_CHECKING:
    from kio.schema.get_telemetry_subscriptions.v0.request import GetTelemetrySubscriptionsRequest

    from kafkapy.broker.requests.needs import HasImage
    from kafkapy.core.seams import Clock, Rng

    class Needs(HasImage, Protocol):
        clock: Clock
        rng: Rng

        @property
        def telemetry(self) -> Telemetry | None: ...


def handle(node: "Needs", call: "Call[GetTelemetrySubscriptionsRequest]") -> Answer:
    telemetry = node.telemetry
    if telemetry is None:
        raise Hangup("GetTelemetrySubscriptions is not served: nobody looks at clients' metrics")
    instance = call.body.client_instance_id or NOBODY
    if instance in RESERVED[1:]:
        raise Refused(ErrorCode.INVALID_REQUEST)
    if instance == NOBODY:
        instance = node.rng.uuid()
    wanted = telemetry.subscribe(
        instance, call.client_id or "", call.peer, node.image, node.clock.now()
    )
    return {
        "throttle_time": 0,
        "error_code": ErrorCode.NONE,
        "client_instance_id": instance,
        "subscription_id": wanted.id,
        "accepted_compression_types": [int(one) for one in ACCEPTED],
        "push_interval": wanted.interval_ms,
        "telemetry_max_bytes": telemetry.max_bytes,
        "delta_temporality": True,
        "requested_metrics": list(wanted.metrics),
    }
