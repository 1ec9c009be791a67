"""The network of a cluster of one: whom it is asked to call is not there."""

from typing import Any

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Answered


class NobodyElse:
    def call(
        self, node: int, api_key: int, version: int, body: Any, timeout_ms: int, then: Answered
    ) -> None:
        then(Refused(ErrorCode.NETWORK_EXCEPTION, f"node {node} is not part of this cluster"))
