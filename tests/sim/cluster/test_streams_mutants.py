"""Streams groups in the simulated cluster: mistakes of a coordinator that must be found out.

As in test_mutants.py, whose hunts these are.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.group.offsets import commit as offset_commit
from kafkapy.group.streams import reconcile
from kafkapy.group.streams.group import StreamsGroup
from kafkapy.sim.runs.cluster import ClusterFailed
from tests.sim.cluster.test_mutants import Hunt

_TROUBLES = ("kill", "break", "pause")


def gives_tasks_away_before_they_are_given_up(patch: pytest.MonkeyPatch) -> None:
    """Whoever is to run a task next runs it at once."""
    add = reconcile._added_active

    def add_all(kept: Any, wanted: Any, epoch: int, is_free: Callable[..., bool]) -> Any:
        return add(kept, wanted, epoch, lambda *_: True)

    patch.setattr(reconcile, "_added_active", add_all)


def gives_two_of_a_process_the_same_state(patch: pytest.MonkeyPatch) -> None:
    """Threads of one process get a task while another one still has a copy of it."""
    for name in ("is_kept_by", "is_run_by"):
        patch.setattr(StreamsGroup, name, lambda *_: False)


def takes_commits_of_who_was_fenced(patch: pytest.MonkeyPatch) -> None:
    """Members that overslept commit what they did meanwhile."""
    patch.setattr(offset_commit, "check_streams_commit", lambda *_, **__: None)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("mutant", "said"),
    [
        (
            gives_tasks_away_before_they_are_given_up,
            "given the task meanwhile|committed after",
        ),
        (gives_two_of_a_process_the_same_state, "given the task meanwhile"),
        (takes_commits_of_who_was_fenced, "committed after|was acknowledged"),
    ],
)
def test_a_coordinator_with_a_mistake_is_found_out(
    mutant: Callable[[pytest.MonkeyPatch], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hunt = Hunt(mutant, _TROUBLES, ("streams",), most_seeds=8)
    mutant(monkeypatch)
    for seed in range(1, hunt.most_seeds + 1):
        try:
            hunt.run(seed)
        except ClusterFailed as failed:
            assert re.search(said, str(failed.cause)), failed.cause
            return
    pytest.fail(f"{hunt.most_seeds} runs kept every promise, and nodes {mutant.__name__}")
