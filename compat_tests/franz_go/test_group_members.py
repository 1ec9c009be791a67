"""Groups of franz-go's members, both protocols (members/README.md)."""

from pathlib import Path

from compat_tests import programs
from compat_tests.members.process import Kind
from compat_tests.members.suite import group_tests


def command() -> list[str]:
    return [*programs.go_program(Path(__file__).parent), "member"]


test_what_happens_to_a_group, test_the_server_restarts = group_tests(
    Kind("classic", command),
    Kind("consumer", command, protocol="consumer", returns=False),
)
