"""One recorded conversation of each client, said to both servers; the answers compared.

When a fetch brings what depends on moments, so of fetches the errors are compared one by
one, and the records all together: each batch of each partition, in the order it came.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from compat_tests import installation, targets
from compat_tests.conftest import address_of
from compat_tests.differ import conversations
from compat_tests.differ.differences import differences
from compat_tests.differ.replay import Replay, Said, fresh_names, from_then_to_now, words_of
from compat_tests.differ.side import plain
from kafkapy.protocol.batches.batch import HEADER_SIZE, batches

pytestmark = [pytest.mark.xdist_group("differ"), pytest.mark.slow, pytest.mark.records]

# Lists that hold everybody's: only rows of the conversation's own names are compared.
_EVERYBODYS = {
    "METADATA": "topics",
    "LIST_GROUPS": "groups",
    "LIST_TRANSACTIONS": "transaction_states",
}
_NAMES = ("name", "group_id", "transactional_id")


@pytest.fixture(scope="module")
def both(request: pytest.FixtureRequest) -> dict[str, str]:
    try:
        return {name: address_of(request.config, name) for name in targets.TARGETS}
    except installation.Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("client", conversations.recorded())
def test_both_servers_answer_a_client_alike(
    both: dict[str, str], client: str, record_property: Callable[[str, object], None]
) -> None:
    found, compared = compare(both, client)
    record_property("answers compared", compared)
    assert compared
    assert not found, "\n".join(["", *found])


def compare(both: Mapping[str, str], client: str) -> tuple[list[str], int]:
    """A line for each difference, and how many answers were compared."""
    events = conversations.load(client)
    renamed = fresh_names(events)
    later_ms = from_then_to_now(events)
    replays = [Replay(address, events, renamed, later_ms) for address in both.values()]
    ours = {name.decode() for name in renamed.values()}
    apache, kafkapy = (Heard(replay, ours) for replay in replays)
    found: list[str] = []
    for number, (left, right) in enumerate(zip(apache.answers, kafkapy.answers, strict=True)):
        lines = list(differences(client, left[1], right[1]))
        found += [f"{number}. {left[0]}: {line}" for line in lines]
    found += [f"fetched: {line}" for line in differences(client, apache.fetched, kafkapy.fetched)]
    return found, len(apache.answers)


class Heard:
    """What one server said in a conversation, in plain words."""

    def __init__(self, replay: Replay, ours: set[str]) -> None:
        self.answers: list[tuple[str, Any]] = []
        self.fetched: dict[str, list[Any]] = {}
        self._ours = ours
        said = list(replay.play())
        self._words = words_of(replay.identities)
        for one in said:
            self._take(one)

    def _take(self, said: Said) -> None:
        api = said.label.split()[0]
        if said.answer is None:
            self.answers.append((said.label, "connection closed"))
            return
        answer = plain(said.answer, self._words)
        if api == "FETCH":
            answer = self._without_records(answer)
        elif api in _EVERYBODYS and answer[_EVERYBODYS[api]] is not None:
            rows = answer[_EVERYBODYS[api]]
            answer[_EVERYBODYS[api]] = [row for row in rows if self._is_ours(row)]
        self.answers.append((said.label, answer))

    def _is_ours(self, row: Mapping[str, Any]) -> bool:
        names = [row[name] for name in _NAMES if isinstance(row.get(name), str)]
        return any(ours in name for name in names for ours in self._ours)

    def _without_records(self, answer: Mapping[str, Any]) -> Any:
        errors = set()
        for topic in answer["responses"]:
            for row in topic["partitions"]:
                name = f"{topic.get('topic') or topic.get('topic_id')}-{row['partition_index']}"
                errors.add((name, row["error_code"]))
                came = self.fetched.setdefault(name, [])
                came += [one for one in _batches(row["records"]) if one not in came]
        return {
            "error_code": answer.get("error_code"),
            "errors": sorted(each for each in errors if each[1] != "NONE"),
        }


def _batches(records: bytes | None) -> list[Any]:
    """Producer ids, and with them the CRCs, and the times of markers are each server's own."""
    data = records or b""
    return [
        {
            "base_offset": one.base_offset,
            "attributes": one.attributes,
            "base_timestamp": None if one.is_control else one.base_timestamp,
            "max_timestamp": None if one.is_control else one.max_timestamp,
            "producer_epoch": one.producer_epoch,
            "base_sequence": one.base_sequence,
            "records": data[position + HEADER_SIZE : position + one.size],
        }
        for position, one in batches(data)
    ]
