"""The partition of a key, as Kafka's producers choose it."""

import pytest

from kafkapy.protocol.partitioner import murmur2, partition_for_key


@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_the_one_of_kafkas_clients(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF


def test_the_partition_never_leaves_the_topic() -> None:
    assert {partition_for_key(str(key).encode(), 3) for key in range(100)} == {0, 1, 2}
