"""kafka-acls and kafka-configs (users, clients, ips) against a server with an authorizer."""

import re
from collections.abc import Callable

import pytest

from compat_tests import targets
from compat_tests.java_tools.tools import failing, tool
from compat_tests.waiting import wait_for

pytestmark = pytest.mark.admin

PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture
def guarded(own_server: Callable[[dict[str, str]], targets.Server]) -> str:
    return own_server(PROPERTIES).bootstrap


def listed(server: str, *arguments: str) -> list[str]:
    said = tool("kafka-acls", server, "--list", *arguments)
    return sorted(re.findall(r"\(principal=.*\)", said))


def test_acls_are_added_listed_and_removed(guarded: str) -> None:
    orders = ["--topic", "orders"]
    alice = ["--allow-principal", "User:alice", "--operation", "Read", "--operation", "Describe"]
    tool("kafka-acls", guarded, "--add", *alice, *orders)
    deny = ["--deny-principal", "User:*", "--deny-host", "10.0.0.1", "--operation", "All"]
    tool("kafka-acls", guarded, "--add", *deny, "--topic", "ord", *_PREFIXED)
    wait_for("they are known", lambda: len(listed(guarded)) == 3)
    assert listed(guarded, *orders) == [
        "(principal=User:alice, host=*, operation=DESCRIBE, permissionType=ALLOW)",
        "(principal=User:alice, host=*, operation=READ, permissionType=ALLOW)",
    ]
    matching = listed(guarded, *orders, "--resource-pattern-type", "match")
    assert "(principal=User:*, host=10.0.0.1, operation=ALL, permissionType=DENY)" in matching
    tool("kafka-acls", guarded, "--remove", "--force", *orders)
    wait_for("they are gone", lambda: len(listed(guarded)) == 1)
    tool("kafka-acls", guarded, "--add", "--producer", "--allow-principal", "User:bob", *orders)
    wait_for("a producer has what it needs", lambda: len(listed(guarded, *orders)) == 3)


_PREFIXED = ["--resource-pattern-type", "prefixed"]


def test_quotas_of_users_clients_and_addresses(guarded: str) -> None:
    for kind, name, config in (
        ("users", "alice", "producer_byte_rate=1024,request_percentage=50"),
        ("clients", "app", "consumer_byte_rate=2048"),
        ("ips", "10.0.0.1", "connection_creation_rate=5"),
    ):
        entity = ["--entity-type", kind, "--entity-name", name]
        said = tool("kafka-configs", guarded, "--alter", "--add-config", config, *entity)
        assert "Completed updating" in said

        def is_told(entity: list[str] = entity, config: str = config) -> bool:
            said = tool("kafka-configs", guarded, "--describe", *entity)
            return all(one.split("=")[0] in said for one in config.split(","))

        wait_for("they are known", is_told)
    default = ["--entity-type", "users", "--entity-default"]
    tool("kafka-configs", guarded, "--alter", "--add-config", "producer_byte_rate=9", *default)
    wait_for(
        "the default is known",
        lambda: "producer_byte_rate=9" in tool("kafka-configs", guarded, "--describe", *default),
    )
    wrong = ["--entity-type", "users", "--entity-name", "alice", "--add-config"]
    said = failing("kafka-configs", guarded, "--alter", *wrong, "producer_byte_rate=-5")
    assert "InvalidRequestException" in said or "Invalid" in said
