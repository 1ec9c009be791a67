"""PushTelemetry, v0 (KIP-714): a client's metrics, as OpenTelemetry packs them.

They are kept as they came; whoever looks unpacks them (kafkapy/http/metrics/telemetry.py).
"""

from typing import TYPE_CHECKING, Protocol

from kafkapy.broker.requests.request import Answer, Call, Hangup
from kafkapy.broker.telemetry.telemetry import NOBODY, RESERVED, Telemetry
from kafkapy.core.errors import ErrorCode, Refused

if TYPE_CHECKING:
    from kio.schema.push_telemetry.v0.request import PushTelemetryRequest

    from kafkapy.broker.requests.needs import HasImage
    from kafkapy.core.seams import Clock

    class Needs(HasImage, Protocol):
        clock: Clock

        @property
        def telemetry(self) -> Telemetry | None: ...


def handle(node: "Needs", call: "Call[PushTelemetryRequest]") -> Answer:
    telemetry, body = node.telemetry, call.body
    if telemetry is None:
        raise Hangup("PushTelemetry is not served: nobody looks at clients' metrics")
    instance = body.client_instance_id or NOBODY
    if instance in RESERVED:
        raise Refused(ErrorCode.INVALID_REQUEST)
    telemetry.push(
        instance,
        body.subscription_id,
        call.client_id or "",
        call.peer,
        node.image,
        node.clock.now(),
        codec=int(body.compression_type),
        data=bytes(body.metrics),
        is_last=body.terminating,
    )
    return {"throttle_time": 0, "error_code": ErrorCode.NONE}
