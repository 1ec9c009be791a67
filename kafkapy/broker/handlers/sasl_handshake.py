"""SaslHandshake, v0-1, after authentication: there is nothing to agree on any more.

Before it, and when a session is to be renewed, broker/security/sasl_gate.py answers.
"""

from typing import TYPE_CHECKING

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.core.errors import ErrorCode

if TYPE_CHECKING:
    from kio.schema.sasl_handshake.v1.request import SaslHandshakeRequest


def handle(node: object, call: "Call[SaslHandshakeRequest]") -> Answer:
    return {"error_code": ErrorCode.ILLEGAL_SASL_STATE, "mechanisms": ()}
