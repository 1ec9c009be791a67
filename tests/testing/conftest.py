"""The fixtures themselves, also where the checkout is not installed with its entry point."""

from kafkapy.testing.plugin import kafka, kafka_session, kafka_settings

__all__ = ["kafka", "kafka_session", "kafka_settings"]
