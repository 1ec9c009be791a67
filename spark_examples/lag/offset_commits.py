"""Committed offsets out of `__consumer_offsets`, with Spark's own functions.

Kafka's coordinator writes a record for each commit, in big-endian binary:

    key    int16 version (0 or 1: an offset commit; 2 and more: a group's own records)
           int16 length, group · int16 length, topic · int32 partition
    value  int16 version · int64 offset · more, which is not needed here
           (no value at all: the commit expired or was deleted)

The topic is compacted: of older commits only the last of each partition may be left.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def offset_commits(records: DataFrame) -> DataFrame:
    """Group, topic, partition, offset and the time of the commit."""
    key = F.col("key")
    group_length = _integer(key, F.lit(3), 2)
    topic_length_at = group_length + 5
    topic_length = _integer(key, topic_length_at, 2)
    partition_at = topic_length_at + 2 + topic_length
    commits = records.where(_integer(key, F.lit(1), 2) < 2).where(F.col("value").isNotNull())
    return commits.select(
        F.substring(key, F.lit(5), group_length).cast("string").alias("group"),
        F.substring(key, topic_length_at + 2, topic_length).cast("string").alias("topic"),
        _integer(key, partition_at, 4).alias("partition"),
        _integer(F.col("value"), F.lit(3), 8).alias("committed"),
        F.col("timestamp").alias("time"),
    )


def _integer(data: Column, at: Column, size: int) -> Column:
    """A big-endian integer that is not negative; `at` counts from 1, as SQL does."""
    return F.conv(F.hex(F.substring(data, at, F.lit(size))), 16, 10).cast("bigint")
