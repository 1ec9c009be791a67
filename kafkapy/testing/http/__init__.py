"""The test kit over HTTP, for tests in other languages: `kafkapy serve --test-api`."""

from kafkapy.testing.http.kit import Kit
from kafkapy.testing.http.server import TestApi, loopback_address

__all__ = ["Kit", "TestApi", "loopback_address"]
