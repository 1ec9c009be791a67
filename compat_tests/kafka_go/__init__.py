"""segmentio/kafka-go, through a small program."""
