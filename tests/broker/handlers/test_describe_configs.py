"""DescribeConfigs in bytes; what the entries say is tested in config/altering/test_describe.py."""

from typing import Any

import pytest

from kafkapy.broker.handlers import describe_configs
from kafkapy.core.errors import ErrorCode
from tests.broker.handlers.admin_node import AdminNode

KEY = 32


def _describe(
    node: AdminNode, kind: int, name: str, *, version: int = 4, keys: Any = None, **fields: Any
) -> Any:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    body = {"resources": [resource], "include_synonyms": True} | fields
    (result,) = node.request(describe_configs, KEY, version, **body).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


@pytest.mark.parametrize("version", range(1, 5))
def test_every_version_describes_topics_brokers_and_groups(version: int) -> None:
    node = AdminNode()
    node.cluster.create("t", (1,), retention_ms="5")
    for kind, name, count in ((2, "t", 33), (4, "1", 340), (32, "g", 17), (16, "m", 3)):
        result = _describe(node, kind, name, version=version)
        assert (result.error_code, len(result.configs)) == (ErrorCode.NONE, count)
    entry = _describe(node, 2, "t", version=version, keys=["retention.ms"]).configs[0]
    assert (entry.name, entry.value, entry.config_source) == ("retention.ms", "5", 1)
    assert entry.synonyms[0].value == "5"


def test_only_what_is_asked_for_comes() -> None:
    node = AdminNode()
    node.cluster.create("t", (1,))
    bare = _describe(node, 2, "t", keys=["flush.ms"], include_synonyms=False)
    assert [one.name for one in bare.configs] == ["flush.ms"]
    assert (bare.configs[0].synonyms, bare.configs[0].documentation) == ((), None)
    full = _describe(node, 2, "t", include_documentation=True)
    assert all(one.documentation for one in full.configs)
    assert len(_describe(node, 2, "t", keys=[]).configs) == 33


def test_the_cluster_default_has_what_is_set_for_all_brokers() -> None:
    node = AdminNode()
    assert node.image
    (entry,) = _describe(node, 4, "").configs
    assert (entry.name, entry.config_source) == ("min.insync.replicas", 3)


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (2, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (4, "2", ErrorCode.INVALID_REQUEST,
         "Unexpected broker id, expected 1 or empty string, but received 2"),
        (4, "x", ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is: x"),
        (8, "", ErrorCode.INVALID_REQUEST, "Broker id must not be empty"),
        (8, "2", ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1 but received 2"),
        (16, "", ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"),
        (32, "", ErrorCode.INVALID_REQUEST, "Group name must not be empty"),
        (64, "x", ErrorCode.INVALID_REQUEST, "Unexpected resource type 64"),
    ],
)  # fmt: skip
def test_what_cannot_be_described_says_why(
    kind: int, name: str, code: ErrorCode, message: str
) -> None:
    result = _describe(AdminNode(), kind, name)
    assert (result.error_code, result.error_message, result.configs) == (code, message, ())


def test_a_bad_topic_name_is_told_from_an_unknown_one() -> None:
    assert _describe(AdminNode(), 2, "a b").error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
