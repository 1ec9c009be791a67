from kafkapy.broker.partitions.acknowledgements import Acknowledgements
from kafkapy.core.errors import ErrorCode


def test_the_watermark_lets_out_the_front_in_the_order_of_the_offsets() -> None:
    """A retry of an older batch comes in between."""
    waiting, told = Acknowledgements(), list[int]()
    for end in (5, 10, 7, 10, 12):
        waiting.add(end, lambda _, end=end: told.append(end))  # type: ignore[misc]  # bound now
    for then in waiting.take_up_to(10):
        then(ErrorCode.NONE)
    assert told == [5, 7, 10, 10]
    assert waiting
    assert len(waiting.take_all()) == 1
    assert not waiting


def test_who_is_forgotten_is_not_told() -> None:
    waiting, told = Acknowledgements(), list[int]()

    def first(_: ErrorCode) -> None:
        told.append(1)

    def second(_: ErrorCode) -> None:
        told.append(2)

    waiting.add(5, first)
    waiting.add(5, second)
    waiting.forget(first)
    for then in waiting.take_up_to(5):
        then(ErrorCode.NONE)
    assert told == [2]
