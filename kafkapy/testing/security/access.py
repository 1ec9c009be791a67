"""`kafka.users` and `kafka.acls` of a SecuredBroker: who gets in, and who may do what.

What is added counts when the call returns, for connections that are open, too.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kafkapy.broker.config.security.jaas import PLAIN_MODULE
from kafkapy.broker.node.broker_role import BrokerRole
from kafkapy.kraft.acls import CLUSTER_NAME as CLUSTER
from kafkapy.kraft.acls import Acl, Operation, PatternType, Permission, ResourceType
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing.asking.ask import check

Ask = Callable[[ApiKey, int, Mapping[str, Any]], Any]
Wait = Callable[[Callable[[BrokerRole], bool]], None]
Alter = Callable[[Mapping[str, str]], None]

_SALT_BYTES: Final = 16


class Users:
    """Who is added may log in by PLAIN and by SCRAM."""

    def __init__(self, ask: Ask, wait: Wait, alter: Alter) -> None:
        self._ask = ask
        self._wait = wait
        self._alter = alter
        self._passwords: dict[str, str] = {}

    def add(self, name: str, password: str | None = None) -> str:
        """The password, which is made up if none is given. Of somebody who is there already it
        is another one from now on."""
        password = secrets.token_urlsafe(12) if password is None else password
        self._passwords[name] = password
        salt = secrets.token_bytes(_SALT_BYTES)
        for mechanism in scram.MECHANISMS.values():
            salted = scram.salted_password(mechanism, password, salt, scram.MIN_ITERATIONS)
            row = {"name": name, "mechanism": mechanism.type, "salt": salt}
            row |= {"iterations": scram.MIN_ITERATIONS, "salted_password": salted}
            self._change(upsertions=[row])
        self._wait(
            lambda broker: all(
                (name, type_) in broker.image.scram and broker.image.scram[name, type_].salt == salt
                for type_ in scram.BY_TYPE
            )
        )
        self._alter({"plain.sasl.jaas.config": self.plain_line()})
        return password

    def remove(self, name: str) -> None:
        """Who is in stays in; nobody comes in by that name any more."""
        self.password(name)
        del self._passwords[name]
        for type_ in scram.BY_TYPE:
            self._change(deletions=[{"name": name, "mechanism": type_}])
        self._wait(
            lambda broker: not any((name, type_) in broker.image.scram for type_ in scram.BY_TYPE)
        )
        self._alter({"plain.sasl.jaas.config": self.plain_line()})

    def password(self, name: str) -> str:
        if name not in self._passwords:
            raise ValueError(f"there is no user {name}; users.add({name!r}) makes one")
        return self._passwords[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._passwords))

    def plain_line(self) -> str:
        """The JAAS line of PLAIN. It names somebody, or no listener would take it."""
        known = {"nobody": secrets.token_hex(), **self._passwords}
        users = " ".join(f'user_{name}="{_quoted(text)}"' for name, text in known.items())
        return f"{PLAIN_MODULE} required {users};"

    def _change(self, **rows: list[dict[str, Any]]) -> None:
        body = {"deletions": [], "upsertions": [], **rows}
        for one in self._ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, body).results:
            check(one.error_code, f"user {one.user}", one.error_message)


class Acls:
    """`who` is a user's name, or a principal with its type: "User:*". Operations have Kafka's
    names: read, write, create, delete, alter, describe, describe-configs, all ..."""

    def __init__(self, ask: Ask, wait: Wait) -> None:
        self._ask = ask
        self._wait = wait

    def allow(self, who: str, *operations: str, host: str = "*", **where: Any) -> None:
        """`where`: topic=, group=, transactional_id= or user= a name; with prefixed=True how
        names begin; cluster=True."""
        self._add(Permission.ALLOW, who, operations, host, where)

    def deny(self, who: str, *operations: str, host: str = "*", **where: Any) -> None:
        """It counts more than anything that allows it."""
        self._add(Permission.DENY, who, operations, host, where)

    def remove(self, who: str) -> None:
        """All that is said of somebody."""
        self._remove(_principal(who))

    def clear(self) -> None:
        self._remove(None)

    def __iter__(self) -> Iterator[Acl]:
        answer = self._ask(ApiKey.DESCRIBE_ACLS, 3, _filter(None))
        check(answer.error_code, "ACLs", answer.error_message)
        for one in answer.resources:
            for acl in one.acls:
                yield Acl(
                    one.resource_type,
                    one.resource_name,
                    one.pattern_type,
                    acl.principal,
                    acl.host,
                    acl.operation,
                    acl.permission_type,
                )

    def _add(
        self,
        permission: Permission,
        who: str,
        operations: tuple[str, ...],
        host: str,
        where: Mapping[str, Any],
    ) -> None:
        resource, name, pattern = _resource(dict(where))
        acls = {
            Acl(resource, name, pattern, _principal(who), host, _operation(one), permission)
            for one in operations
        }
        if not acls:
            raise ValueError("say which operation: read, write, describe ...")
        creations = [
            {
                "resource_type": acl.resource_type,
                "resource_name": acl.resource_name,
                "resource_pattern_type": acl.pattern_type,
                "principal": acl.principal,
                "host": acl.host,
                "operation": acl.operation,
                "permission_type": acl.permission,
            }
            for acl in acls
        ]
        for one in self._ask(ApiKey.CREATE_ACLS, 3, {"creations": creations}).results:
            check(one.error_code, "ACL", one.error_message)
        self._wait(lambda broker: acls <= _known(broker))

    def _remove(self, principal: str | None) -> None:
        answer = self._ask(ApiKey.DELETE_ACLS, 3, {"filters": [_filter(principal)]})
        for one in answer.filter_results:
            check(one.error_code, "ACLs", one.error_message)
        self._wait(
            lambda broker: not any(principal in (None, acl.principal) for acl in _known(broker))
        )


def _known(broker: BrokerRole) -> set[Acl]:
    assert broker.authorizer is not None, "a secured broker has one"
    return set(broker.authorizer.acls)


def _resource(where: dict[str, Any]) -> tuple[ResourceType, str, PatternType]:
    pattern = PatternType.PREFIXED if where.pop("prefixed", False) else PatternType.LITERAL
    if len(where) != 1:
        raise ValueError(
            "say where, once: topic=, group=, transactional_id=, user= or cluster=True"
        )
    ((kind, name),) = where.items()
    if kind == "cluster" and name is True:
        return ResourceType.CLUSTER, CLUSTER, PatternType.LITERAL
    if kind not in ("topic", "group", "transactional_id", "user") or not isinstance(name, str):
        raise ValueError(f"{kind}={name!r}: there is no such resource")
    return ResourceType[kind.upper()], name, pattern


def _operation(text: str) -> Operation:
    name = text.upper().replace("-", "_")
    if name not in Operation.__members__:
        raise ValueError(f"{text}: there is no such operation")
    return Operation[name]


def _principal(who: str) -> str:
    return who if ":" in who else f"User:{who}"


def _filter(principal: str | None) -> dict[str, Any]:
    return {
        "resource_type_filter": ResourceType.ANY,
        "resource_name_filter": None,
        "pattern_type_filter": PatternType.ANY,
        "principal_filter": principal,
        "host_filter": None,
        "operation": Operation.ANY,
        "permission_type": Permission.ANY,
    }


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
