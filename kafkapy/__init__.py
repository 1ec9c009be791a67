"""kafkapy: a Kafka server in Python that stock clients cannot tell from Apache Kafka."""

__version__ = "0.1.0"
