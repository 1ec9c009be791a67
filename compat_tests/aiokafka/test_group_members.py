"""Groups of aiokafka's members (members/README.md)."""

import sys
from pathlib import Path

from compat_tests.members.process import Kind
from compat_tests.members.suite import group_tests

COMMAND = [sys.executable, str(Path(__file__).with_name("member.py"))]

test_what_happens_to_a_group, test_the_server_restarts = group_tests(
    Kind("classic", lambda: COMMAND, is_cooperative=False)
)
