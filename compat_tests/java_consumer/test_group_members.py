"""Groups of Apache Kafka's own consumers, both protocols (members/README.md)."""

from compat_tests.java_consumer.program import command
from compat_tests.members.process import Kind
from compat_tests.members.suite import group_tests

test_what_happens_to_a_group, test_the_server_restarts = group_tests(
    Kind("classic", command),
    Kind("eager", command, is_cooperative=False),
    Kind("consumer", command, protocol="consumer"),
)
