"""Throw-away certificates, as the test kit makes them."""

from kafkapy.testing.certificates import ORGANIZATION, Authority, Certificate

__all__ = ["ORGANIZATION", "Authority", "Certificate"]
