"""Settings of topics that are used as queues (docs/QUEUES.md). Apache Kafka has no such keys, so
they are shown only where they are set."""

from kafkapy.broker.config.table.key import Section
from kafkapy.broker.config.table.make import boolean, int32
from kafkapy.broker.config.table.validators import at_least, between

MOST_WEIGHT = 1_000_000


class QueueTopicKeys(Section):
    kafkapy_retention_follows_share_groups = boolean(
        False,
        "Whether records go once all share groups that read the topic are done with them. "
        "Not for compacted topics.",
        internal=True,
    )
    kafkapy_share_weight = int32(
        1,
        "How much sooner than those of other topics its records are handed out by a share group "
        "that reads several: what waits counts as waiting so many times as long.",
        valid=between(1, MOST_WEIGHT),
        internal=True,
    )


class QueueKeys(Section):
    kafkapy_share_retention_interval_ms = int32(
        10000,
        "How often topics with kafkapy.retention.follows.share.groups are looked after.",
        valid=at_least(100),
    )
