import pytest

from kafkapy.coordinator.partitioning import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(2**31)),
        ("\N{GRINNING FACE}", 1772899),
    ],
)
def test_the_hash_is_javas(text: str, code: int) -> None:
    assert java_hash(text) == code


def test_the_smallest_hash_goes_to_the_first_partition() -> None:
    assert partition_for("polygenelubricants", 50) == 0


def test_a_group_goes_where_kafka_puts_it() -> None:
    assert partition_for("hello", 50) == 99162322 % 50
