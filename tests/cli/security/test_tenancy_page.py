"""docs/TENANCY.md: its commands work, and make what the page says."""

import re
import shlex
from pathlib import Path

import pytest

from kafkapy.broker.requests.request import Peer
from kafkapy.broker.security.authorizer.authorizer import Authorizer
from kafkapy.cli.main import main
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.testing import Broker

PAGE = Path(__file__).parents[3] / "docs/TENANCY.md"
SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def test_the_pages_commands_make_tenants(capfd: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^kafkapy (.*)$", PAGE.read_text(), re.MULTILINE)
    assert len(commands) == 6
    with Broker(SETTINGS) as broker:
        for command in commands:
            assert main([*shlex.split(command), "--bootstrap-server", broker.bootstrap]) == 0
        asked = broker._call(lambda role: _questions(role.authorizer))
        quotas = broker._call(lambda role: len(role.image.quotas))
    capfd.readouterr()
    assert asked == {
        "green writes its own": True,
        "green reads as its group": True,
        "green uses its transactional id": True,
        "green describes another's": False,
        "blue reads what it was lent": True,
        "blue writes to it": False,
        "blue reads another": False,
    }
    assert quotas == 3


def _questions(authorizer: Authorizer | None) -> dict[str, bool]:
    assert authorizer is not None
    green, blue = (Peer("L", "10.0.0.1", f"User:{name}") for name in ("green", "blue"))
    topic, group, transaction = (
        ResourceType.TOPIC,
        ResourceType.GROUP,
        ResourceType.TRANSACTIONAL_ID,
    )
    read, write, describe = Operation.READ, Operation.WRITE, Operation.DESCRIBE
    return {
        "green writes its own": authorizer.allows(green, write, topic, "green-orders"),
        "green reads as its group": authorizer.allows(green, read, group, "green-app"),
        "green uses its transactional id": authorizer.allows(green, write, transaction, "green-1"),
        "green describes another's": authorizer.allows(green, describe, topic, "blue-orders"),
        "blue reads what it was lent": authorizer.allows(blue, read, topic, "green-prices"),
        "blue writes to it": authorizer.allows(blue, write, topic, "green-prices"),
        "blue reads another": authorizer.allows(blue, read, topic, "green-orders"),
    }
