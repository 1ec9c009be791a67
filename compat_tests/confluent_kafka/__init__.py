"""librdkafka, through confluent-kafka."""
