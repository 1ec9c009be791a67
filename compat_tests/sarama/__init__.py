"""sarama, through a small program."""
