"""Apache Kafka's own command-line tools, so: its Java clients and its admin client."""
