"""How pages talk to Kafka."""
