"""ACLs in the metadata: made once, found by filters, deleted."""

from typing import Any

import pytest

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.kraft.acls import (
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    check_new,
)
from kafkapy.kraft.controller.access.acls import CreateAcls, DeleteAcls
from kafkapy.kraft.records.metadata import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from tests.kraft.controller.fakes import Cluster

READ_ORDERS = Acl(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    "User:alice",
    "*",
    Operation.READ,
    Permission.ALLOW,
)
EVERYTHING = AclFilter(
    ResourceType.ANY, None, PatternType.ANY, None, None, Operation.ANY, Permission.ANY
)


def test_an_acl_is_made_once() -> None:
    cluster = Cluster()
    other = READ_ORDERS._replace(host="10.0.0.1")
    records = cluster.records_of(CreateAcls((READ_ORDERS, READ_ORDERS, other)))
    assert [type(record) for record in records] == [AccessControlEntryRecord] * 2
    assert cluster.records_of(CreateAcls((other, READ_ORDERS))) == []
    assert len(cluster.image.acls) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_type": 99},
        {"pattern_type": PatternType.MATCH},
        {"pattern_type": PatternType.ANY},
        {"operation": Operation.ANY},
        {"permission": Permission.ANY},
        {"resource_name": ""},
        {"principal": "alice"},
    ],
)
def test_one_that_cannot_be_is_refused_by_itself(wrong: dict[str, Any]) -> None:
    cluster = Cluster()
    first, second = cluster.ask(CreateAcls((READ_ORDERS._replace(**wrong), READ_ORDERS)))
    assert isinstance(first, Refused)
    assert first.code is ErrorCode.INVALID_REQUEST
    assert second is None
    assert len(cluster.image.acls) == 1


def test_hosts_are_judged_since_they_may_be_networks() -> None:
    for host, is_good in (("10.0.0.0/8", True), ("::1", True), ("*", True), ("a.host", False)):
        acl = READ_ORDERS._replace(host=host)
        check_new(acl, 31)
        if is_good:
            check_new(acl, 32)
        else:
            with pytest.raises(Refused):
                check_new(acl, 32)


def test_filters_find_what_they_leave_open() -> None:
    prefix = READ_ORDERS._replace(resource_name="ord", pattern_type=PatternType.PREFIXED)
    wildcard = READ_ORDERS._replace(resource_name="*", principal="User:bob")
    group = READ_ORDERS._replace(resource_type=ResourceType.GROUP)
    acls = (READ_ORDERS, prefix, wildcard, group)

    def found(**parts: Any) -> set[Acl]:
        return {acl for acl in acls if EVERYTHING._replace(**parts).matches(acl)}

    topic = {"resource_type": ResourceType.TOPIC}
    match = {**topic, "pattern_type": PatternType.MATCH}
    assert found() == set(acls)
    assert found(**topic) == {READ_ORDERS, prefix, wildcard}
    assert found(**topic, resource_name="orders") == {READ_ORDERS}
    assert found(**match, resource_name="orders") == {READ_ORDERS, prefix, wildcard}
    assert found(**match, resource_name="others") == {wildcard}
    assert found(pattern_type=PatternType.PREFIXED) == {prefix}
    assert found(principal="User:bob") == {wildcard}
    assert found(operation=Operation.WRITE) == set()


def test_what_filters_find_is_deleted_once_and_told_by_each() -> None:
    cluster = Cluster()
    other = READ_ORDERS._replace(operation=Operation.WRITE)
    cluster.ask(CreateAcls((READ_ORDERS, other)))
    reads = EVERYTHING._replace(operation=Operation.READ)
    unknown = EVERYTHING._replace(operation=77)
    before = len(cluster.log.records)
    all_of_it, of_reads, of_unknown = cluster.ask(DeleteAcls((EVERYTHING, reads, unknown)))
    assert (set(all_of_it), of_reads) == ({READ_ORDERS, other}, (READ_ORDERS,))
    assert isinstance(of_unknown, Refused)
    removed = cluster.log.records[before:]
    assert [type(one) for one in removed] == [RemoveAccessControlEntryRecord] * 2
    assert cluster.image.acls == {}


def test_too_many_at_once_are_refused() -> None:
    cluster = Cluster()
    many = tuple(READ_ORDERS._replace(host=str(number)) for number in range(10_001))
    assert cluster.refusal(CreateAcls(many)) is ErrorCode.POLICY_VIOLATION
    assert cluster.image.acls == {}
