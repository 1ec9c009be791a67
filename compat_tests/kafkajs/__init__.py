"""KafkaJS, through a small program."""
