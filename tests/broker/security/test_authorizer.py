"""The rules of the authorizer, as Apache Kafka's StandardAuthorizer has them."""

import pytest

from kafkapy.broker.requests.request import Peer
from kafkapy.broker.security.authorizer import authorizer as module
from kafkapy.kraft.acls import Operation, ResourceType
from tests.broker.security.rules import Rules


def test_without_an_acl_only_super_users_may() -> None:
    rules = Rules()
    assert not rules.may("READ", "orders")
    assert rules.may("READ", "orders", "User:admin")


def test_without_an_acl_everybody_may_where_that_is_set_until_one_speaks_of_the_resource() -> None:
    rules = Rules(without_acl=True)
    assert rules.may("READ", "orders")
    rules.allow("READ", "orders", "User:bob")
    assert not rules.may("READ", "orders")
    assert rules.may("READ", "others")


def test_an_acl_is_for_its_principal_operation_resource_and_host() -> None:
    rules = Rules()
    rules.allow("READ", "orders", host="10.1.2.3")
    assert rules.may("READ", "orders")
    assert not rules.may("READ", "orders", "User:bob")
    assert not rules.may("READ", "orders", "Group:alice")
    assert not rules.may("WRITE", "orders")
    assert not rules.may("READ", "order")
    assert not rules.may("READ", "orders", kind=ResourceType.GROUP)
    assert not rules.may("READ", "orders", host="10.1.2.4")


def test_a_prefix_a_wildcard_and_anybody() -> None:
    rules = Rules()
    rules.allow("READ", "team-", is_prefix=True)
    rules.allow("READ", "team-a-", "User:bob", is_prefix=True)
    rules.allow("WRITE", "*", "User:*")
    assert rules.may("READ", "team-x")
    assert rules.may("READ", "team-")
    assert not rules.may("READ", "team")
    assert rules.may("READ", "team-a-1", "User:bob")
    assert not rules.may("READ", "team-b-1", "User:bob")
    assert rules.may("WRITE", "whatever", "User:carol")


def test_a_denial_comes_before_whatever_allows() -> None:
    rules = Rules()
    rules.allow("READ", "orders")
    denial = rules.deny("ALL", "ord", is_prefix=True)
    assert not rules.may("READ", "orders")
    assert rules.may("READ", "orders", "User:admin")
    rules.remove(denial)
    rules.deny("READ", "*", "User:*")
    assert not rules.may("READ", "orders")


@pytest.mark.parametrize("operation", ["READ", "WRITE", "DELETE", "ALTER", "DESCRIBE", "ALL"])
def test_what_allows_more_allows_to_describe(operation: str) -> None:
    rules = Rules()
    rules.allow(operation, "orders")
    assert rules.may("DESCRIBE", "orders")


def test_describe_configs_is_allowed_by_alter_configs_alone() -> None:
    rules = Rules()
    rules.allow("ALTER_CONFIGS", "orders")
    rules.allow("ALTER", "others")
    assert rules.may("DESCRIBE_CONFIGS", "orders")
    assert not rules.may("DESCRIBE", "orders")
    assert not rules.may("DESCRIBE_CONFIGS", "others")


def test_to_deny_more_is_not_to_deny_to_describe() -> None:
    rules = Rules()
    rules.allow("DESCRIBE", "orders")
    rules.deny("READ", "orders")
    assert rules.may("DESCRIBE", "orders")


def test_a_change_acts_at_once_and_is_another_version() -> None:
    rules = Rules()
    before = rules.authorizer.version
    assert not rules.may("READ", "orders")
    allowing = rules.allow("READ", "orders")
    assert rules.may("READ", "orders")
    rules.remove(allowing)
    assert not rules.may("READ", "orders")
    assert rules.authorizer.version > before + 1


def test_other_metadata_changes_no_version() -> None:
    rules = Rules()
    before = rules.authorizer.version
    rules.set_metadata_version(30)
    assert rules.authorizer.version == before


def test_a_network_is_a_host_from_the_metadata_version_on_that_knows_it() -> None:
    rules = Rules()
    rules.set_metadata_version(31)
    rules.allow("READ", "orders", host="10.1.0.0/16")
    rules.allow("READ", "orders", host="fd00::/8")
    assert not rules.may("READ", "orders")
    rules.set_metadata_version(32)
    assert rules.may("READ", "orders")
    assert not rules.may("READ", "orders", host="10.2.0.1")
    assert rules.may("READ", "orders", host="fd00::1")
    rules.set_metadata_version(31)
    assert not rules.may("READ", "orders")


def test_some_topic_may_be_written_to() -> None:
    rules = Rules()
    assert not rules.may_on_any("WRITE")
    assert rules.may_on_any("WRITE", "User:admin")
    rules.allow("WRITE", "team-a-orders")
    assert rules.may_on_any("WRITE")
    assert not rules.may_on_any("READ")
    denial = rules.deny("WRITE", "team-", is_prefix=True)
    assert not rules.may_on_any("WRITE")
    rules.allow("WRITE", "te", is_prefix=True)
    assert rules.may_on_any("WRITE")
    rules.deny("WRITE", "*")
    assert not rules.may_on_any("WRITE")
    rules.remove(denial)
    assert not rules.may_on_any("WRITE")


def test_a_refusal_is_told_once_with_its_rule_and_a_question_never() -> None:
    rules = Rules()
    rules.deny("READ", "orders")
    peer = Peer("L", "10.1.2.3", "User:alice")
    assert not rules.authorizer.would_allow(peer, Operation.READ, ResourceType.TOPIC, "orders")
    assert rules.journal.told == []
    assert not rules.may("READ", "orders")
    assert not rules.may("READ", "orders")
    (told,) = rules.journal.told
    assert told[0] == "refused"
    assert told[1] == {
        "principal": "User:alice",
        "host": "10.1.2.3",
        "operation": "READ",
        "resource": "TOPIC:orders",
        "rule": "DENY READ to User:alice from * on LITERAL orders",
    }


def test_a_long_name_is_decided_and_told_once_but_not_kept() -> None:
    """By its beginning alone it would be another's: these differ at the end."""
    rules = Rules()
    long = "x" * 32_000
    rules.allow("READ", long)
    rules.allow("WRITE", "x", is_prefix=True)
    for _ in range(2):
        assert rules.may("READ", long)
        assert rules.may("WRITE", long)
        assert not rules.may("READ", long + "y")
    peer = Peer("L", "10.1.2.3", "User:alice")
    for name, may in ((long, True), (long + "y", False), ("x" * 249, False), ("x" * 250, False)):
        asked = Operation.READ, ResourceType.TOPIC, name
        assert rules.authorizer.would_allow(peer, *asked) is may
    kept = [*rules.authorizer._decided, *rules.authorizer._wondered]
    assert max(len(name) for *_, name in kept) <= 249
    (told,) = rules.journal.told
    assert told[1]["resource"] == f"TOPIC:{'x' * 249}... (32001 characters)"


@pytest.mark.parametrize(
    ("said", "host"),
    [
        ("10.1.2.3", "::ffff:10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("::FFFF:0a01:0203", "10.1.2.3"),
        ("10.1.0.0/16", "::ffff:10.1.2.3"),
        ("::ffff:10.1.0.0/112", "10.1.2.3"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("FD00:0::0001", "fd00::1"),
        ("fd00::/8", "fd00:0:0:0:0:0:0:1"),
    ],
)
def test_an_address_is_the_same_however_it_is_spelled(said: str, host: str) -> None:
    rules = Rules()
    rules.set_metadata_version(32)
    rules.allow("READ", "orders")
    rules.deny("READ", "orders", host=said)
    rules.deny("DESCRIBE", "*", host="somewhere.example.org")
    assert not rules.may("READ", "orders", host=host)
    assert rules.may("READ", "orders", host="10.2.2.3")
    assert rules.may("READ", "orders", host="fe80::1%eth0")


def test_a_network_of_ipv6_has_no_ipv4_address_in_it() -> None:
    rules = Rules()
    rules.set_metadata_version(32)
    rules.allow("READ", "orders", host="::/0")
    assert rules.may("READ", "orders", host="fd00::1")
    assert not rules.may("READ", "orders", host="10.1.2.3")


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DECISIONS", 10)
    rules = Rules()
    for number in range(100):
        assert not rules.may("READ", f"topic-{number}")
    assert len(rules.authorizer._decided) <= 10
