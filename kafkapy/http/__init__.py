"""HTTP beside Kafka's protocol; README.md says how it is made."""
