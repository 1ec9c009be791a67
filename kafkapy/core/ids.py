"""The words for nobody, and for one partition.

Ids, epochs and offsets are plain ints, named for what they are (`leader_epoch`, `broker_id`):
NewTypes for them were tried, and nearly every value comes from a message or a record that
would have to be wrapped.
"""

from typing import Final, NamedTuple

NO_NODE: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1


class TopicPartition(NamedTuple):
    """One partition of one topic, by name; also the name of its directory."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
