"""ListConfigResources in bytes."""

from kafkapy.broker.handlers import list_config_resources
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.controller.configs import Alteration, AlterConfigs
from tests.broker.handlers.admin_node import AdminNode

KEY = 74


def _node() -> AdminNode:
    node = AdminNode(brokers=2)
    node.cluster.create("t", (1,))
    for kind, name, key, value in (
        (16, "subscription", "interval.ms", "1000"),
        (32, "group", "consumer.session.timeout.ms", "50000"),
    ):
        change = AlterConfigs((((kind, name), (Alteration(key, 0, value),)),))
        assert node.cluster.ask(change)[kind, name] is None
    return node


def _listed(node: AdminNode, *kinds: int) -> list[tuple[int, str]]:
    answer = node.request(list_config_resources, KEY, 1, resource_types=list(kinds))
    assert answer.error_code == ErrorCode.NONE
    return [(one.resource_type, one.resource_name) for one in answer.config_resources]


def test_all_kinds_or_some_are_listed() -> None:
    node = _node()
    assert _listed(node) == [
        (2, "t"),
        (4, "1"),
        (4, "2"),
        (8, "1"),
        (8, "2"),
        (16, "subscription"),
        (32, "group"),
    ]
    assert _listed(node, 32, 2) == [(32, "group"), (2, "t")]


def test_a_kind_that_is_not_listed_is_refused() -> None:
    answer = _node().request(list_config_resources, KEY, 1, resource_types=[1])
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_version_0_lists_subscriptions_alone() -> None:
    answer = _node().request(list_config_resources, KEY, 0)
    assert [one.resource_name for one in answer.config_resources] == ["subscription"]
