"""The same requests to Apache Kafka and to kafkapy; their answers, field by field."""
