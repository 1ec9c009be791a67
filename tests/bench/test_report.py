"""Results: ratios that always say how far ahead kafkapy is, and runs made in pieces."""

from pathlib import Path

import pytest

from bench import report
from bench.report import Results
from bench.row import P99, RATE, Figures
from bench.runner import Measured


def _measured(row: str, **figures: Figures) -> Measured:
    measured = Measured(lambda _: None)
    for target, found in figures.items():
        measured.note(row, target, found)
    return measured


def test_twice_the_rate_and_half_the_latency_are_both_two_times_ahead() -> None:
    assert RATE.ahead(200.0, 100.0) == 2.0
    assert P99.ahead(1.5, 3.0) == 2.0


def test_a_run_replaces_its_rows_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "_RESULTS", tmp_path)
    Results("a").keep(_measured("one", kafkapy={"rate": 1.0}), revision="r", adds=False)
    Results("a").keep(_measured("two", kafkapy={"rate": 2.0}), revision="r", adds=False)
    Results("a").keep(_measured("one", kafkapy={"rate": 3.0}), revision="s", adds=False)
    rows = Results("a").rows
    assert rows["one"]["rounds"] == {"kafkapy": [{"rate": 3.0}]}
    assert rows["two"]["rounds"] == {"kafkapy": [{"rate": 2.0}]}


def test_added_rounds_stand_beside_the_old_ones_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured is kept after every figure, so the same is kept several times."""
    monkeypatch.setattr(report, "_RESULTS", tmp_path)
    Results("a").keep(_measured("one", kafkapy={"rate": 1.0}), revision="r", adds=False)
    again = Results("a")
    measured = _measured("one", kafkapy={"rate": 2.0}, apache={"rate": 1.0})
    again.keep(measured, revision="r", adds=True)
    again.keep(measured, revision="r", adds=True)
    assert Results("a").rows["one"]["rounds"] == {
        "kafkapy": [{"rate": 1.0}, {"rate": 2.0}],
        "apache": [{"rate": 1.0}],
    }
