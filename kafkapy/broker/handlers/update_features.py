"""UpdateFeatures, v0-2. v1 has upgrade types and validate_only; v2 one verdict for all."""

from typing import TYPE_CHECKING

from kafkapy.broker.controller.ask import ask, verdict
from kafkapy.broker.requests.request import Answer, Call, Fields
from kafkapy.broker.requests.translations import optional
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.controller.features import FeatureUpdate, UpdateFeatures, UpgradeType

if TYPE_CHECKING:
    from kio.schema.update_features.v2.request import FeatureUpdateKey, UpdateFeaturesRequest

    from kafkapy.broker.requests.needs import HasController


def handle(node: "HasController", call: "Call[UpdateFeaturesRequest]") -> Answer:
    asked = call.body.feature_updates
    event = UpdateFeatures(
        updates=tuple(
            FeatureUpdate(one.feature, one.max_version_level, _type(one)) for one in asked
        ),
        validate_only=optional(call.body, "validate_only", False),
    )
    names = [one.feature for one in asked]
    return ask(
        node,
        event,
        lambda reply: _response(names, None),
        lambda refused: _response(names, refused),
    )


def _type(update: "FeatureUpdateKey") -> int:
    if hasattr(update, "allow_downgrade"):
        return UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else UpgradeType.UPGRADE
    kind: int = update.upgrade_type
    return kind


def _response(names: list[str], refused: Refused | None) -> Fields:
    whole = refused
    if refused is not None and refused.code is ErrorCode.INVALID_UPDATE_VERSION:
        whole = Refused(
            refused.code,
            "The update failed for all features since the following feature had an error: "
            f"{refused.message}",
        )
    # The whole is done or not: only a success has rows, and Kafka's word for it.
    return {
        "throttle_time": 0,
        **verdict(whole),
        "results": [
            {"feature": name, "error_code": ErrorCode.NONE, "error_message": "NONE"}
            for name in names
            if whole is None
        ],
    }
