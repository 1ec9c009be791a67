"""ApiVersions, v0-4. v3 adds the client's name and the features; v4 lists features at 0.

The answer is made from the API table and the finalized features of the metadata image.
"""

import re
from typing import TYPE_CHECKING, Any

from kafkapy.broker.requests.request import Answer, Call
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.features import KRAFT_VERSION, SUPPORTED_FEATURES

if TYPE_CHECKING:
    from typing import Protocol

    from kio.schema.api_versions.v4.request import ApiVersionsRequest

    from kafkapy.broker.requests.apis import Api
    from kafkapy.broker.requests.needs import HasImage
    from kafkapy.kraft.metadata_quorum import MetadataQuorum

    class Needs(HasImage, Protocol):
        def apis_on(self, *, is_controller: bool) -> tuple[Api, ...]: ...

        @property
        def quorum(self) -> MetadataQuorum: ...


_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(node: "Needs", call: "Call[ApiVersionsRequest]") -> Answer:
    if call.version >= 3:
        name, version = call.body.client_software_name, call.body.client_software_version
        if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
            return {"error_code": ErrorCode.INVALID_REQUEST, "api_keys": ()}
        call.peer.software_name, call.peer.software_version = name, version
    return {
        "error_code": 0,
        "api_keys": _rows(node, is_controller=call.peer.is_controller_listener),
        "throttle_time": 0,
        "supported_features": [
            {"name": name, "min_version": low, "max_version": high}
            for name, (low, high) in sorted(SUPPORTED_FEATURES.items())
            # v0-3 clients take a minimum of 0 for an error (KIP-1022).
            if low > 0 or call.version >= 4
        ],
        "finalized_features_epoch": node.image.offset,
        "finalized_features": [
            {"name": name, "max_version_level": level, "min_version_level": level}
            for name, level in sorted(_finalized(node).items())
        ],
    }


def _finalized(node: "Needs") -> dict[str, int]:
    """The image's levels, and kraft.version, which a control record of the quorum says."""
    levels = dict(node.image.features)
    if node.quorum.kraft_version > 0:
        levels[KRAFT_VERSION] = node.quorum.kraft_version
    return levels


def _rows(node: "Needs", *, is_controller: bool) -> list[dict[str, Any]]:
    return [
        {
            "api_key": api.key,
            "min_version": api.min_version
            if api.advertised_min_version is None
            else api.advertised_min_version,
            "max_version": api.max_version,
        }
        for api in node.apis_on(is_controller=is_controller)
    ]
