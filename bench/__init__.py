"""kafkapy beside Apache Kafka: the same rows, the same machine, the same run."""
