"""Real clients against two targets: Apache Kafka, which is right, and kafkapy."""
