"""Throw-away certificates, as the test kit makes them."""

from kafkapy.testing.security.certificates import ORGANIZATION, Authority, Certificate

__all__ = ["ORGANIZATION", "Authority", "Certificate"]
