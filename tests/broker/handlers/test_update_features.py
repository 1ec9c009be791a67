"""UpdateFeatures in bytes."""

from typing import Any

import pytest

from kafkapy.broker.handlers import update_features
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.admin_node import AdminNode

KEY = 57


@pytest.mark.parametrize("version", range(3))
def test_a_level_is_lowered_by_who_says_that_it_is_a_downgrade(version: int) -> None:
    node = AdminNode()
    update = {"feature": "share.version", "max_version_level": 0}
    refused = node.request(
        update_features, KEY, version, feature_updates=[{**update, **_how(version, 1)}], timeout=1
    )
    assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert refused.error_message.startswith("The update failed for all features since")
    if version < 2:
        assert not refused.results  # the whole is refused, no row by itself
    done = node.request(
        update_features, KEY, version, feature_updates=[{**update, **_how(version, 2)}], timeout=1
    )
    assert done.error_code == ErrorCode.NONE
    if version < 2:
        rows = [(one.feature, one.error_code, one.error_message) for one in done.results]
        assert rows == [("share.version", ErrorCode.NONE, "NONE")]
    assert "share.version" not in node.image.features


def _how(version: int, upgrade_type: int) -> dict[str, object]:
    if version == 0:
        return {"allow_downgrade": upgrade_type > 1}
    return {"upgrade_type": upgrade_type}


def test_validating_changes_nothing() -> None:
    node = AdminNode()
    update = {"feature": "share.version", "max_version_level": 0, "upgrade_type": 2}
    answer = node.request(
        update_features, KEY, 2, feature_updates=[update], timeout=1, validate_only=True
    )
    assert answer.error_code == ErrorCode.NONE
    assert node.image.features["share.version"] == 1


@pytest.mark.parametrize(
    ("feature", "level", "kind", "sentence"),
    [
        ("foo", 1, 1, "Invalid update version 1 for feature foo. Local controller 1 does not "
         "support this feature."),
        ("metadata.version", 99, 1, "Invalid update version 99 for feature metadata.version. "
         "Local controller 1 only supports versions 7-30"),
        ("metadata.version", 7, 2, "Unsupported metadata.version downgrade from 30 to 7. Refusing "
         "to perform the requested downgrade because it might delete metadata information."),
        ("metadata.version", 7, 3, "Unsupported metadata.version downgrade from 30 to 7. Unsafe "
         "metadata downgrade is not supported in this version."),
        ("share.version", 1, 9, "Invalid update version 1 for feature share.version. The "
         "controller does not support the given upgrade type."),
        ("kraft.version", 0, 2, "Invalid update version 0 for feature kraft.version. Can't "
         "downgrade the version of this feature."),
        ("transaction.version", -1, 2, "Invalid update version -1 for feature "
         "transaction.version. A feature version cannot be less than 0."),
    ],
)  # fmt: skip
def test_refusals_are_worded_as_apache_kafka_words_them(
    feature: str, level: int, kind: int, sentence: str
) -> None:
    update = {"feature": feature, "max_version_level": level, "upgrade_type": kind}
    answer = AdminNode().request(update_features, KEY, 2, feature_updates=[update], timeout=1)
    prefix = "The update failed for all features since the following feature had an error: "
    assert answer.error_message == prefix + sentence


def test_a_quorum_whose_voters_are_configured_has_another_kraft_version() -> None:
    update = {"feature": "kraft.version", "max_version_level": 0, "upgrade_type": 1}
    ask: dict[str, Any] = {"feature_updates": [update], "timeout": 1, "validate_only": True}
    node = AdminNode()
    refused = node.request(update_features, KEY, 2, **ask)
    assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION  # it is 1
    image = node.image
    node.controller.resign()
    node.controller.lead(image, (), kraft_version=0)
    assert node.request(update_features, KEY, 2, **ask).error_code == ErrorCode.NONE
