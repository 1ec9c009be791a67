"""Into which partition of its target a relayed record goes: one key's records stay together.

the record says which          there, if there is one
a multiple of the target's     where it is here, modulo the target's: what a producer that takes a
partitions are here            hash of the key modulo the partitions would choose there, by whatever
                               hash; the same one, if there are as many
else                           by the key as Kafka's producers do; without a key, by where
                               it is here
"""

from kafkapy.protocol.partitioner import partition_for_key


def partition_of(
    key: bytes | None, source: int, source_count: int, target_count: int, said: int = -1
) -> int:
    if 0 <= said < target_count:
        return said
    if key is None or source_count % target_count == 0:
        return source % target_count
    return partition_for_key(key, target_count)
