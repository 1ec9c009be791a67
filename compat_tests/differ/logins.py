"""Somebody shows who it is by PLAIN, on a connection that does nothing by itself."""

from typing import Any

from compat_tests.differ.side import Side
from kafkapy.protocol.api_keys import ApiKey


def log_in(side: Side, user: str, password: str) -> Any:
    """The answer to what shows the password."""
    answer = side.call(ApiKey.SASL_HANDSHAKE, {"mechanism": "PLAIN"})
    assert not answer.error_code.value, answer
    return side.call(ApiKey.SASL_AUTHENTICATE, {"auth_bytes": f"\0{user}\0{password}".encode()})
