"""A consumer group as it is becoming while a step is decided."""

from kafkapy.group.consumer.group import ConsumerGroup, ConsumerNote
from kafkapy.group.draft import Draft


class ConsumerDraft(Draft[ConsumerGroup, ConsumerNote]):
    """One that the consumer protocol's decisions write to."""
