"""Who may do what (ACLs), who there is (SCRAM users), and how much each may use (quotas)."""

from typing import Any, Final
from urllib.parse import urlencode

from kafkapy.core.errors import ErrorCode
from kafkapy.http.console.asked import Asked, Pages
from kafkapy.http.console.paging import part_of
from kafkapy.http.kafka.errors import check
from kafkapy.kraft.acls import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey

_ANY: Final = 1
_EVERY_ACL: Final = {
    "resource_type_filter": _ANY,
    "resource_name_filter": None,
    "pattern_type_filter": _ANY,
    "principal_filter": None,
    "host_filter": None,
    "operation": _ANY,
    "permission_type": _ANY,
}


async def acls(asked: Asked) -> Any:
    answer = await asked.kafka.ask(ApiKey.DESCRIBE_ACLS, _EVERY_ACL)
    if answer.error_code == ErrorCode.SECURITY_DISABLED:
        return asked.page("acls.html", part=None, text="")
    with asked.needs("DESCRIBE", "CLUSTER", CLUSTER_NAME):
        check(answer.error_code, "ACLs", answer.error_message)
    text = asked.query("q").lower()
    rows = sorted(
        (
            one.principal,
            _word(ResourceType, resource.resource_type),
            resource.resource_name,
            _word(PatternType, resource.pattern_type),
            _word(Operation, one.operation),
            _word(Permission, one.permission_type),
            one.host,
        )
        for resource in answer.resources
        for one in resource.acls
    )
    rows = [row for row in rows if text in " ".join(row).lower()]
    return asked.page("acls.html", part=part_of(asked, rows), text=asked.query("q"))


async def users(asked: Asked) -> Any:
    text = asked.query("q").lower()
    rows = [row for row in await credentials(asked) if text in row[0].lower()]
    return asked.page("users.html", part=part_of(asked, rows), text=asked.query("q"))


async def credentials(asked: Asked) -> list[tuple[str, str, int]]:
    """User, mechanism and iterations of each."""
    answer = await asked.kafka.ask(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": None})
    with asked.needs("DESCRIBE", "CLUSTER", CLUSTER_NAME):
        check(answer.error_code, "users", answer.error_message)
    return sorted(
        (one.user, scram.BY_TYPE[info.mechanism].name, info.iterations)
        for one in answer.results
        for info in one.credential_infos
        if info.mechanism in scram.BY_TYPE
    )


async def quotas(asked: Asked) -> Any:
    answer = await asked.kafka.ask(
        ApiKey.DESCRIBE_CLIENT_QUOTAS, {"components": [], "strict": False}
    )
    with asked.needs("DESCRIBE_CONFIGS", "CLUSTER", CLUSTER_NAME):
        check(answer.error_code, "quotas", answer.error_message)
    rows = sorted(
        (
            ", ".join(f"{one.entity_type} {_name(one)}" for one in entry.entity),
            value.key,
            value.value,
            urlencode(_chosen(entry.entity)),
        )
        for entry in answer.entries or ()
        for value in entry.values
    )
    return asked.page("quotas.html", part=part_of(asked, rows))


def _chosen(entity: Any) -> dict[str, str]:
    """As the form of changes asks for it."""
    found = {}
    for one in entity:
        found[f"{one.entity_type}-is"] = "default" if one.entity_name is None else "name"
        if one.entity_name is not None:
            found[one.entity_type] = one.entity_name
    return found


def _name(entity: Any) -> str:
    return "(default)" if entity.entity_name is None else str(entity.entity_name)


def _word(kind: Any, number: int) -> str:
    """A newer broker may know more."""
    try:
        return str(kind(int(number)).name)
    except ValueError:
        return str(int(number))


PAGES: Pages = (
    ("GET", "/console/acls", acls),
    ("GET", "/console/users", users),
    ("GET", "/console/quotas", quotas),
)
