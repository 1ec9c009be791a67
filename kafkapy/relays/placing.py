"""Into which partition of its target a relayed record goes: one key's records stay together.

the record says which          there, if there is one
as many partitions as here     the same one, whoever partitioned the source by whatever
else                           by the key as Kafka's producers do; without a key, by where
                               it is here
"""

from kafkapy.protocol.partitioner import partition_for_key


def partition_of(
    key: bytes | None, source: int, source_count: int, target_count: int, said: int = -1
) -> int:
    if 0 <= said < target_count:
        return said
    if source_count == target_count:
        return source
    if key is None:
        return source % target_count
    return partition_for_key(key, target_count)
