"""AlterUserScramCredentials and DescribeUserScramCredentials."""

from typing import Any

from kafkapy.broker.handlers import alter_user_scram_credentials as alter
from kafkapy.broker.handlers import describe_user_scram_credentials as describe
from kafkapy.core.errors import ErrorCode
from kafkapy.kraft.controller.access.scram import AlterScram, ScramUpsertion
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey
from tests.broker.handlers.admin_node import AdminNode

SALT = b"0123456789abcdef"
SALTED = {
    one.type: scram.salted_password(one, "secret", SALT, 4096) for one in scram.MECHANISMS.values()
}


def upsertion(name: str, mechanism: int = 1, iterations: int = 4096) -> dict[str, Any]:
    return {
        "name": name,
        "mechanism": mechanism,
        "iterations": iterations,
        "salt": SALT,
        "salted_password": SALTED.get(mechanism, b""),
    }


def altered(
    node: AdminNode, *upsertions: dict[str, Any], delete: tuple[tuple[str, int], ...] = ()
) -> dict[str, int]:
    answer = node.request(
        alter,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        0,
        deletions=[{"name": name, "mechanism": mechanism} for name, mechanism in delete],
        upsertions=upsertions,
    )
    return {one.user: int(one.error_code) for one in answer.results}


def described(node: AdminNode, *names: str) -> dict[str, Any]:
    users = [{"name": one} for one in names]
    answer = node.request(describe, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=users)
    assert not answer.error_code
    return {
        one.user: (int(one.error_code), [(i.mechanism, i.iterations) for i in one.credential_infos])
        for one in answer.results
    }


def test_what_is_kept_proves_the_password_and_is_not_it() -> None:
    node = AdminNode()
    assert altered(node, upsertion("alice", 1), upsertion("bob", 2, 8192)) == {"alice": 0, "bob": 0}
    kept = node.image.scram["alice", 1]
    expected = scram.credential_of(scram.SHA_256, SALTED[1], SALT, 4096)
    assert (kept.stored_key, kept.server_key) == (expected.stored_key, expected.server_key)
    assert described(node) == {"alice": (0, [(1, 4096)]), "bob": (0, [(2, 8192)])}


def test_each_user_is_judged_alone() -> None:
    node = AdminNode()
    altered(node, upsertion("old"))
    assert altered(
        node,
        upsertion("few", 1, 4095),
        upsertion("many", 1, 16385),
        upsertion("odd", 3),
        upsertion(""),
        upsertion("twice", 1),
        upsertion("twice", 2),
        upsertion("good"),
        delete=(("nobody", 1), ("old", 2)),
    ) == {
        "few": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "many": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "odd": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "twice": ErrorCode.DUPLICATE_RESOURCE,
        "good": 0,
        "nobody": ErrorCode.RESOURCE_NOT_FOUND,
        "old": ErrorCode.RESOURCE_NOT_FOUND,
    }
    assert set(node.image.scram) == {("old", 1), ("good", 1)}


def test_a_deleted_credential_is_gone_and_the_other_one_stays() -> None:
    node = AdminNode()
    altered(node, upsertion("alice", 1))
    altered(node, upsertion("alice", 2))
    assert altered(node, delete=(("alice", 1),)) == {"alice": 0}
    assert described(node, "alice") == {"alice": (0, [(2, 4096)])}


def test_users_that_are_not_there_or_asked_for_twice() -> None:
    node = AdminNode()
    altered(node, upsertion("alice"))
    assert described(node, "alice", "alice", "bob") == {
        "alice": (ErrorCode.DUPLICATE_RESOURCE, []),
        "bob": (ErrorCode.RESOURCE_NOT_FOUND, []),
    }


def test_an_event_does_not_show_its_secrets() -> None:
    event = AlterScram((), (ScramUpsertion("alice", 1, 4096, b"salt", b"salted"),))
    assert "salt" not in repr(event).replace("AlterScram", "")
