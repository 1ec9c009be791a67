"""Which versions a peer speaks: ApiVersions from the asking side.

We ask in the newest version we know. A peer that is older answers in version 0, with error
35 and the versions of ApiVersions it has, and is asked again in one of those (KIP-511).
"""

from typing import Final

from kafkapy import __version__
from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_response_head
from kafkapy.protocol.messages import decode_response, encode_request

_NEWEST: Final = 4
_SOFTWARE: Final = "kafkapy"
_NONE: Final = (0, -1)


@dataclass(frozen=True, slots=True)
class PeerVersions:
    """`is_final`: the peer has answered; else `asked_in` is what to ask in next."""

    asked_in: int
    is_final: bool
    ranges: dict[int, tuple[int, int]]
    finalized_features: dict[str, int]

    def newest(self, api: ApiKey, ours: tuple[int, int]) -> int | None:
        """The newest version that both speak."""
        low, high = self.ranges.get(api, _NONE)
        version = min(high, ours[1])
        return version if version >= max(low, ours[0]) else None

    def told(self, api: ApiKey) -> str:
        low, high = self.ranges.get(api, _NONE)
        return f"{low}-{high}" if high >= low else "not at all"


def ask_versions(before: PeerVersions | None) -> tuple[int, bytes]:
    """The version to ask in, and the request."""
    version = _NEWEST if before is None else before.asked_in
    body = {"client_software_name": _SOFTWARE, "client_software_version": __version__}
    return version, encode_request(ApiKey.API_VERSIONS, version, body)


def read_versions(
    view: memoryview, correlation_id: int, before: PeerVersions | None
) -> PeerVersions:
    """Corrupt if the peer does not speak Kafka."""
    version = _NEWEST if before is None else before.asked_in
    told, at = read_response_head(ApiKey.API_VERSIONS, version, view)
    if told != correlation_id:
        raise Corrupt(f"an answer to request {told} instead of {correlation_id}")
    # Every version's answer begins with the error code; that of error 35 is a version 0.
    refused = view[at : at + 2] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
    answer = decode_response(ApiKey.API_VERSIONS, 0 if refused else version, view[at:])
    ranges = {int(row.api_key): (row.min_version, row.max_version) for row in answer.api_keys}
    if refused:
        asked_in = min(ranges.get(ApiKey.API_VERSIONS, (0, 0))[1], version - 1)
        if before is not None or asked_in < 0:
            raise Corrupt("no version of ApiVersions that both speak")
        return PeerVersions(asked_in, False, {}, {})
    if answer.error_code:
        raise Corrupt(f"ApiVersions refused: {ErrorCode(answer.error_code).name}")
    finalized = {
        row.name: row.max_version_level for row in getattr(answer, "finalized_features", ())
    }
    return PeerVersions(version, True, ranges, finalized)
