"""Granting and taking back: shown first, with what it would be about, and done when confirmed."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kafkapy.http.console.asked import Asked, Pages
from kafkapy.http.console.seeing import until_seen, visible_topics
from kafkapy.http.kafka.errors import check
from kafkapy.http.problems import Problem
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from kafkapy.protocol.api_keys import ApiKey

RESOURCES: Final = tuple(one.name for one in ResourceType if one > ResourceType.ANY)
PATTERNS: Final = (PatternType.LITERAL.name, PatternType.PREFIXED.name)
OPERATIONS: Final = tuple(one.name for one in Operation if one > Operation.ANY)
PERMISSIONS: Final = (Permission.ALLOW.name, Permission.DENY.name)
_FIELDS: Final = ("principal", "resource", "name", "pattern", "operation", "permission", "host")
_MOST_NAMED: Final = 20
_MOST_OPERATIONS: Final = len(OPERATIONS)


class Grant(NamedTuple):
    """One ACL, in Kafka's words."""

    principal: str
    resource: str
    name: str
    pattern: str
    operation: str
    permission: str
    host: str

    @property
    def is_about_all(self) -> bool:
        return self.name == "*" and self.pattern == PatternType.LITERAL.name


async def ask_add(asked: Asked) -> Any:
    """Without `operation` the form; with it, what would be added as well."""
    said = asked.request.query_params
    chosen = [one for one in said.getlist("operation") if one]
    grants, about, failed = [], None, None
    if chosen:
        try:
            grants = [_grant({**said, "operation": one}) for one in chosen[:_MOST_OPERATIONS]]
            about = await _about(asked, grants[0])
        except Problem as problem:
            grants, failed = [], problem.detail
    return asked.page(
        "add_acl.html",
        chosen=chosen,
        grants=grants,
        about=about,
        failed=failed,
        resources=RESOURCES,
        patterns=PATTERNS,
        operations=OPERATIONS,
        permissions=PERMISSIONS,
    )


async def add(asked: Asked) -> Any:
    form = await asked.form()
    said = dict(form)
    operations = [value for name, value in form if name == "operation"]
    grants = [_grant({**said, "operation": one}) for one in operations[:_MOST_OPERATIONS]]
    if not grants:
        raise Problem(400, "which operations?")
    creations = [
        {
            "resource_type": ResourceType[one.resource],
            "resource_name": one.name,
            "resource_pattern_type": PatternType[one.pattern],
            "principal": one.principal,
            "host": one.host,
            "operation": Operation[one.operation],
            "permission_type": Permission[one.permission],
        }
        for one in grants
    ]
    answer = await asked.kafka.ask(ApiKey.CREATE_ACLS, {"creations": creations})
    with asked.needs("ALTER", "CLUSTER", CLUSTER_NAME):
        for one in answer.results:
            check(one.error_code, "ACL", one.error_message)

    async def are_there() -> bool:
        return all([await _count(asked, one) for one in grants])

    await until_seen(are_there)
    return asked.go("/console/acls", q=grants[0].principal, done="granted")


async def ask_remove(asked: Asked) -> Any:
    grant = _grant(asked.request.query_params)
    about = await _about(asked, grant)
    return asked.page("remove_acl.html", grant=grant, about=about, fields=_FIELDS)


async def remove(asked: Asked) -> Any:
    grant = _grant(await asked.fields())
    body = {
        "filters": [
            {
                "resource_type_filter": ResourceType[grant.resource],
                "resource_name_filter": grant.name,
                "pattern_type_filter": PatternType[grant.pattern],
                "principal_filter": grant.principal,
                "host_filter": grant.host,
                "operation": Operation[grant.operation],
                "permission_type": Permission[grant.permission],
            }
        ]
    }
    answer = (await asked.kafka.ask(ApiKey.DELETE_ACLS, body)).filter_results[0]
    with asked.needs("ALTER", "CLUSTER", CLUSTER_NAME):
        check(answer.error_code, "ACL", answer.error_message)
        for one in answer.matching_acls:
            check(one.error_code, "ACL", one.error_message)
    if not answer.matching_acls:
        raise Problem(404, "there is no such ACL (any more)")

    async def is_gone() -> bool:
        return not await _count(asked, grant)

    await until_seen(is_gone)
    return asked.go("/console/acls", done="taken-back")


async def _count(asked: Asked, grant: Grant) -> int:
    """How many there are of exactly this; who may change ACLs may see them, by Kafka's rules."""
    body = {
        "resource_type_filter": ResourceType[grant.resource],
        "resource_name_filter": grant.name,
        "pattern_type_filter": PatternType[grant.pattern],
        "principal_filter": grant.principal,
        "host_filter": grant.host,
        "operation": Operation[grant.operation],
        "permission_type": Permission[grant.permission],
    }
    answer = await asked.kafka.ask(ApiKey.DESCRIBE_ACLS, body)
    check(answer.error_code, "ACLs", answer.error_message)
    return sum(len(one.acls) for one in answer.resources)


async def _about(asked: Asked, grant: Grant) -> tuple[list[str], int] | None:
    """Topics that it is about now: some of them, and how many; None of what is no topic's."""
    if grant.resource != ResourceType.TOPIC.name or not grant.name:
        return None
    names = await visible_topics(asked.kafka)
    if grant.pattern == PatternType.PREFIXED.name:
        names = [one for one in names if one.startswith(grant.name)]
    elif not grant.is_about_all:
        names = [one for one in names if one == grant.name]
    return names[:_MOST_NAMED], len(names)


def _grant(said: Mapping[str, Any]) -> Grant:
    made = Grant(*(str(said.get(one, "")).strip() for one in _FIELDS))
    if made.resource == ResourceType.CLUSTER.name:
        made = made._replace(name=CLUSTER_NAME, pattern=PatternType.LITERAL.name)
    made = made._replace(host=made.host or "*")
    kind, colon, name = made.principal.partition(":")
    if not (kind and colon and name):
        raise Problem(400, "a principal is written User:name, or User:* for everybody")
    if not made.name:
        raise Problem(400, "a name, or a part of one, or * for all")
    known = (
        (made.resource, RESOURCES),
        (made.pattern, PATTERNS),
        (made.operation, OPERATIONS),
        (made.permission, PERMISSIONS),
    )
    for word, words in known:
        if word not in words:
            raise Problem(400, f"{word or 'nothing'}: it is one of {', '.join(words)}")
    return made


PAGES: Pages = (
    ("GET", "/console/acls/add", ask_add),
    ("POST", "/console/acls/add", add),
    ("GET", "/console/acls/remove", ask_remove),
    ("POST", "/console/acls/remove", remove),
)
