"""A walk through the APIs of delegation tokens, as somebody known by name with one permission.

Unlike in permissions.py everybody logs in: who has not shown who it is may not ask about tokens.

    admin   a super user, who grants
    owner   has a token, and another one that the guest may renew
    guest   is looked at: the one permission of this walk, and a token of its own
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from compat_tests.differ.logins import log_in
from compat_tests.differ.permissions import Grant
from compat_tests.differ.side import Closed, Side, newest
from compat_tests.waiting import wait_for
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from kafkapy.protocol.api_keys import ApiKey

K = ApiKey
ADMIN, OWNER, GUEST = "admin", "owner", "guest"
USERS = (ADMIN, OWNER, GUEST)
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_PASSWORDS = " ".join(f'user_{name}="{name}"' for name in USERS)
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # The controller's listener asks nobody.
    "super.users": f"User:{ADMIN};User:ANONYMOUS",
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": f'{_MODULE} required username="{ADMIN}" '
    f'password="{ADMIN}" {_PASSWORDS};',
    "delegation.token.secret.key": "a secret of all nodes",
}
_OPERATIONS = {
    ResourceType.DELEGATION_TOKEN: "DESCRIBE ALL",
    ResourceType.USER: "CREATE_TOKENS DESCRIBE_TOKENS ALL",
    ResourceType.CLUSTER: "CREATE ALTER DESCRIBE CLUSTER_ACTION ALL",
}
GRANTS = (
    Grant(None, None),
    *(
        Grant(resource, Operation[name])
        for resource, names in _OPERATIONS.items()
        for name in names.split()
    ),
)
_LONG_MS = 3_600_000


class Token(NamedTuple):
    id: str
    hmac: bytes


class Asked(NamedTuple):
    what: str
    api: ApiKey
    body: dict[str, Any]
    version: int


def all_answers(address: str) -> dict[str, dict[str, Any]]:
    """By grant and request."""
    return {str(grant): dict(walk(address, grant)) for grant in GRANTS}


def walk(address: str, grant: Grant) -> Iterator[tuple[str, Any]]:
    """What each request is called, and what is kept of its answer."""
    sides = {name: _known(address, name) for name in USERS}
    admin, owner, guest = (sides[name] for name in USERS)
    theirs = _made(owner)
    lent = _made(owner, renewers=[_principal(GUEST)])
    own = _made(guest)
    tokens = {"theirs": theirs, "lent": lent, "own": own}
    words = {token.id: word for word, token in tokens.items()}
    granted = _granted(grant, theirs)
    if granted is not None:
        admin.call(K.CREATE_ACLS, {"creations": [granted]})
        _wait_for_acls(admin, 1)
    try:
        for asked in _requests(tokens):
            try:
                answer = guest.call(asked.api, asked.body, asked.version)
            except Closed:
                guest._reconnect()
                log_in(guest, GUEST, GUEST)
                yield f"{asked.api.name} v{asked.version} {asked.what}", "connection closed"
                continue
            yield f"{asked.api.name} v{asked.version} {asked.what}", _essence(answer, words)
    finally:
        admin.call(K.DELETE_ACLS, {"filters": [_filter()]})
        _wait_for_acls(admin, 0)
        for side in sides.values():
            side.close()


def _requests(tokens: Mapping[str, Token]) -> Iterator[Asked]:
    for version in (1, 2, 3):
        for what, names in (
            ("all", None),
            ("nobody's", []),
            ("owner's", [OWNER]),
            ("own", [GUEST]),
            ("both's", [OWNER, GUEST]),
            ("stranger's", ["stranger"]),
        ):
            owners = None if names is None else [_principal(name) for name in names]
            yield Asked(what, K.DESCRIBE_DELEGATION_TOKEN, {"owners": owners}, version)
    for version in (1, 2):
        for word, token in {**tokens, "unknown": Token("", b"no token's")}.items():
            shown = {"hmac": token.hmac}
            body = {**shown, "renew_period": _LONG_MS}
            yield Asked(word, K.RENEW_DELEGATION_TOKEN, body, version)
            body = {**shown, "expiry_time_period": _LONG_MS}
            yield Asked(word, K.EXPIRE_DELEGATION_TOKEN, body, version)
    for version in (1, 2, 3):
        for what, name in (
            ("for itself", GUEST),
            ("for the owner", OWNER),
            ("for a stranger", "x"),
        ):
            yield Asked(what, K.CREATE_DELEGATION_TOKEN, _creation(name), version)
    group = {"owner_principal_type": "Group", "owner_principal_name": OWNER}
    yield Asked("for a group", K.CREATE_DELEGATION_TOKEN, {**_creation(OWNER), **group}, 3)
    lending = _creation(None, renewers=[{"principal_type": "Group", "principal_name": OWNER}])
    yield Asked("a group renews", K.CREATE_DELEGATION_TOKEN, lending, 3)


def _creation(owner: str | None, *, renewers: Any = ()) -> dict[str, Any]:
    """For who asks, where no owner is named."""
    named = {"owner_principal_type": "User", "owner_principal_name": owner}
    if owner is None:
        named = {"owner_principal_type": "", "owner_principal_name": ""}
    return {**named, "renewers": list(renewers), "max_lifetime": _LONG_MS}


def _essence(answer: Any, words: Mapping[str, str]) -> Any:
    kept: dict[str, Any] = {"error_code": answer.error_code.name}
    if hasattr(answer, "tokens"):
        kept["tokens"] = sorted(
            f"{words[one.token_id]} of {one.principal_name}{_requested(one)}"
            for one in answer.tokens
            if one.token_id in words
        )
    elif hasattr(answer, "token_id"):
        kept["is_made"] = bool(answer.token_id)
        kept["for"] = f"{answer.principal_name}{_requested(answer)}"
    return kept


def _requested(one: Any) -> str:
    by = getattr(one, "token_requester_principal_name", None)
    return "" if by is None else f" by {by}"


def _known(address: str, name: str) -> Side:
    side = Side(address, K.METADATA, newest(K.METADATA), name)
    answer = log_in(side, name, name)
    assert not answer.error_code.value, answer
    return side


def _principal(name: str) -> dict[str, str]:
    return {"principal_type": "User", "principal_name": name}


def _made(side: Side, *, renewers: Any = ()) -> Token:
    answer = side.call(K.CREATE_DELEGATION_TOKEN, _creation(None, renewers=renewers))
    assert not answer.error_code.value, answer
    token = Token(answer.token_id, bytes(answer.hmac))

    def is_known() -> bool:
        told = side.call(K.DESCRIBE_DELEGATION_TOKEN, {"owners": None})
        return any(one.token_id == token.id for one in told.tokens)

    wait_for("the node knows the token", is_known, every_s=0.005)
    return token


def _granted(grant: Grant, token: Token) -> dict[str, Any] | None:
    if grant.resource is None or grant.operation is None:
        return None
    names = {
        ResourceType.DELEGATION_TOKEN: token.id,
        ResourceType.USER: f"User:{OWNER}",
        ResourceType.CLUSTER: CLUSTER_NAME,
    }
    return {
        "resource_type": grant.resource,
        "resource_name": names[grant.resource],
        "resource_pattern_type": PatternType.LITERAL,
        "principal": f"User:{GUEST}",
        "host": "*",
        "operation": grant.operation,
        "permission_type": Permission.ALLOW,
    }


def _filter() -> dict[str, Any]:
    anything = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1}
    anything |= {"permission_type": 1}
    nobody: dict[str, Any] = {"resource_name_filter": None, "host_filter": None}
    return {**anything, **nobody, "principal_filter": f"User:{GUEST}"}


def _wait_for_acls(admin: Side, count: int) -> None:
    """The broker knows them a moment after the controller."""

    def is_known() -> bool:
        answer = admin.call(K.DESCRIBE_ACLS, _filter())
        return sum(len(one.acls) for one in answer.resources) == count

    wait_for(f"{count} ACLs", is_known, every_s=0.005)
