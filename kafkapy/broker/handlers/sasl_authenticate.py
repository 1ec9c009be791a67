"""SaslAuthenticate, v0-2, after authentication, or on a listener without SASL.

Before it broker/security/sasl_gate.py answers. v1 has the session's lifetime; v2 is flexible.
"""

from typing import TYPE_CHECKING

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.core.errors import ErrorCode

if TYPE_CHECKING:
    from kio.schema.sasl_authenticate.v2.request import SaslAuthenticateRequest


def handle(node: object, call: "Call[SaslAuthenticateRequest]") -> Answer:
    return {
        "error_code": ErrorCode.ILLEGAL_SASL_STATE,
        "error_message": "SaslAuthenticate request received after successful authentication",
        "auth_bytes": b"",
        "session_lifetime": 0,
    }
