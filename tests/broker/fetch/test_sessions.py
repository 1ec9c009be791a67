"""Fetch sessions (KIP-227), by the table at the top of their module."""

from typing import Any
from uuid import UUID

import pytest

from kafkapy.broker.fetch.sessions import IDLE_MS, FetchSessions
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.protocol.handwritten.fetch_request import FetchRequestView, FetchRow

NOW = Instant(1_000_000)
VERSION = 12


class Counting:
    """An Rng that counts."""

    def __init__(self) -> None:
        self.next = 0

    def below(self, limit: int) -> int:
        self.next += 1
        return self.next - 1

    def uuid(self) -> UUID:
        raise AssertionError("nobody asks")


def request(
    session_id: int,
    epoch: int,
    partitions: dict[str, list[int]],
    forget: dict[str, list[int]] | None = None,
) -> FetchRequestView:
    return FetchRequestView(
        -1, 500, 1, 1000, 0, session_id, epoch,
        [
            (topic, None, [FetchRow(index, -1, 0, -1, -1, 100) for index in indexes])
            for topic, indexes in partitions.items()
        ],
        [(topic, None, indexes) for topic, indexes in (forget or {}).items()],
    )  # fmt: skip


@pytest.fixture
def sessions() -> FetchSessions:
    return FetchSessions(2, Counting())


def names(fetching: Any) -> list[tuple[str, int]]:
    return [(one.topic, one.index) for one in fetching.wanted.values()]


def test_without_a_session_the_request_says_it_all(sessions: FetchSessions) -> None:
    fetching = sessions.begin(request(0, -1, {"a": [0, 1]}), VERSION, NOW)
    assert fetching.session_id == 0
    assert fetching.is_full
    assert names(fetching) == [("a", 0), ("a", 1)]
    assert len(sessions) == 0


def test_a_session_remembers_what_is_not_said_again(sessions: FetchSessions) -> None:
    first = sessions.begin(request(0, 0, {"a": [0], "b": [0]}), VERSION, NOW)
    assert first.session_id > 0
    second = sessions.begin(request(first.session_id, 1, {}), VERSION, NOW)
    assert names(second) == [("a", 0), ("b", 0)]
    assert not second.is_full
    third = sessions.begin(
        request(first.session_id, 2, {"c": [5]}, forget={"a": [0]}), VERSION, NOW
    )
    assert names(third) == [("b", 0), ("c", 5)]


def test_an_unknown_session_and_a_wrong_epoch_are_refused(sessions: FetchSessions) -> None:
    with pytest.raises(Refused) as unknown:
        sessions.begin(request(77, 1, {}), VERSION, NOW)
    assert unknown.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    made = sessions.begin(request(0, 0, {"a": [0]}), VERSION, NOW)
    with pytest.raises(Refused) as wrong:
        sessions.begin(request(made.session_id, 2, {}), VERSION, NOW)
    assert wrong.value.code is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_topic_ids_and_names_do_not_mix_in_a_session(sessions: FetchSessions) -> None:
    made = sessions.begin(request(0, 0, {"a": [0]}), VERSION, NOW)
    with pytest.raises(Refused) as mixed:
        sessions.begin(request(made.session_id, 1, {}), 13, NOW)
    assert mixed.value.code is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_that_forgets_everything_ends(sessions: FetchSessions) -> None:
    made = sessions.begin(request(0, 0, {"a": [0]}), VERSION, NOW)
    last = sessions.begin(request(made.session_id, 1, {}, forget={"a": [0]}), VERSION, NOW)
    assert last.session_id == 0
    assert len(sessions) == 0


def test_only_an_idle_session_makes_room(sessions: FetchSessions) -> None:
    kept = [sessions.begin(request(0, 0, {"a": [0]}), VERSION, NOW) for _ in range(2)]
    assert sessions.begin(request(0, 0, {"a": [0]}), VERSION, NOW).session_id == 0
    much_later = Instant(NOW + IDLE_MS)
    sessions.begin(request(kept[0].session_id, 1, {}), VERSION, much_later)
    newest = sessions.begin(request(0, 0, {"a": [0]}), VERSION, much_later)
    assert newest.session_id > 0
    with pytest.raises(Refused):
        sessions.begin(request(kept[1].session_id, 1, {}), VERSION, much_later)


def test_whoever_was_served_goes_to_the_back(sessions: FetchSessions) -> None:
    made = sessions.begin(request(0, 0, {"a": [0, 1], "b": [0]}), VERSION, NOW)
    made.rotate([("a", 0)])
    again = sessions.begin(request(made.session_id, 1, {}), VERSION, NOW)
    assert names(again) == [("a", 1), ("b", 0), ("a", 0)]
