"""One key's records stay together, whoever partitioned the source."""

from kafkapy.protocol.partitioner import partition_for_key
from kafkapy.relays.placing import partition_of


def test_as_many_partitions_means_the_same_one() -> None:
    assert partition_of(b"k", 4, 6, 6) == 4
    assert partition_of(None, 4, 6, 6) == 4


def test_fewer_by_a_whole_number_means_where_any_hash_would_put_it() -> None:
    for value in range(1000):
        assert partition_of(b"%d" % value, value % 12, 12, 4) == value % 4
        key = b"%d" % value
        assert partition_of(key, partition_for_key(key, 12), 12, 4) == partition_for_key(key, 4)


def test_else_by_key_as_producers_do_and_without_one_by_where_it_was() -> None:
    assert partition_of(b"k", 4, 6, 4) == partition_for_key(b"k", 4)
    assert partition_of(None, 5, 6, 4) == 1


def test_a_record_that_says_where_goes_there_if_there_is_such_a_one() -> None:
    assert partition_of(b"k", 0, 6, 4, said=2) == 2
    assert partition_of(b"k", 0, 6, 4, said=4) == partition_for_key(b"k", 4)
