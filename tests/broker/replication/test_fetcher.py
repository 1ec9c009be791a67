"""What a follower asks for: what its leader does not know yet, some of it at a time."""

import pytest

from kafkapy.broker.replication import fetcher
from tests.broker.replication.test_fetcher_trouble import Kit

pytestmark = pytest.mark.interpreted  # replaces a part of the module


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetcher, "MOST_ROWS", 3)


def test_a_request_names_some_and_does_not_wait_while_there_are_more() -> None:
    kit = Kit(count=7)
    named, waits = [kit.named()], [kit.asked[-1][0].max_wait_ms]
    for _ in range(3):
        kit.answer()
        named.append(kit.named())
        waits.append(kit.asked[-1][0].max_wait_ms)
    assert named == [[0, 1, 2], [3, 4, 5], [6], []]
    assert waits == [0, 0, 500, 500]


def test_without_a_session_each_request_says_it_all() -> None:
    kit = Kit(count=7)
    kit.answer(session_id=0)
    assert kit.named() == list(range(7))
    kit.answer(session_id=0)
    assert kit.named() == list(range(7))


def test_who_registered_anew_tells_its_leaders_anew() -> None:
    """They know it by its epoch, and what they heard of another life does not count."""
    kit = Kit(count=3)
    kit.answer()
    assert kit.named() == []
    kit.node.broker_epoch = 6
    kit.answer()
    assert kit.named() == [0, 1, 2]
    assert kit.asked[-1][0].session_epoch == 0
    kit.answer()
    assert kit.named() == []
