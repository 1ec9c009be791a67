"""Results: ratios that always say how far ahead kafkapy is, and runs made in pieces."""

from pathlib import Path

import pytest

from bench import plots
from bench.publish import Refused, publish
from bench.report import PUBLISHED, Results
from bench.row import APACHE, P99, RATE, Figures
from bench.rows import FAMILIES
from bench.runner import Measured


def _measured(row: str, **figures: Figures) -> Measured:
    measured = Measured(lambda _: None)
    for target, found in figures.items():
        measured.note(row, target, found)
    return measured


def test_twice_the_rate_and_half_the_latency_are_both_two_times_ahead() -> None:
    assert RATE.ahead(200.0, 100.0) == 2.0
    assert P99.ahead(1.5, 3.0) == 2.0


def test_a_run_replaces_its_rows_and_leaves_the_others(tmp_path: Path) -> None:
    Results("a", tmp_path).keep(_measured("one", kafkapy={"rate": 1.0}), revision="r", adds=False)
    Results("a", tmp_path).keep(_measured("two", kafkapy={"rate": 2.0}), revision="r", adds=False)
    Results("a", tmp_path).keep(_measured("one", kafkapy={"rate": 3.0}), revision="s", adds=False)
    rows = Results("a", tmp_path).rows
    assert rows["one"]["rounds"] == {"kafkapy": [{"rate": 3.0}]}
    assert rows["two"]["rounds"] == {"kafkapy": [{"rate": 2.0}]}


def test_added_rounds_stand_beside_the_old_ones_once(tmp_path: Path) -> None:
    """What was measured is kept after every figure, so the same is kept several times."""
    Results("a", tmp_path).keep(_measured("one", kafkapy={"rate": 1.0}), revision="r", adds=False)
    again = Results("a", tmp_path)
    measured = _measured("one", kafkapy={"rate": 2.0}, apache={"rate": 1.0})
    again.keep(measured, revision="r", adds=True)
    again.keep(measured, revision="r", adds=True)
    assert Results("a", tmp_path).rows["one"]["rounds"] == {
        "kafkapy": [{"rate": 1.0}, {"rate": 2.0}],
        "apache": [{"rate": 1.0}],
    }


def _whole(folder: Path, revision: str = "abc on Python 3", *, without: str = "") -> None:
    """A run of every row."""
    results = Results("bench", folder)
    for row in (row for rows in FAMILIES.values() for row in rows if row.id != without):
        figures = {each.name: 1 / 3 for each in row.figures}
        found = dict.fromkeys(row.targets, figures)
        results.keep(_measured(row.id, **found), revision=revision, adds=False)


def test_what_is_published_is_the_whole_run(tmp_path: Path) -> None:
    """The rows of the set before it are gone; a soak comes along."""
    kept, published = tmp_path / "kept", tmp_path / "published"
    old = Results("bench", published)
    old.keep(_measured("gone", kafkapy={"rate": 1.0}), revision="old", adds=False)
    _whole(kept)
    (kept / "soak.md").write_text("flat")
    publish(kept, published)
    assert Results("bench", published).rows == Results("bench", kept).rows
    assert (published / "bench.md").read_text().startswith("On ")
    assert (published / "soak.md").read_text() == "flat"


def test_a_run_that_is_no_set_of_a_release_is_not_published(tmp_path: Path) -> None:
    _whole(tmp_path, without="start")
    with pytest.raises(Refused, match="no run of start"):
        publish(tmp_path, tmp_path / "published")
    results = Results("bench", tmp_path)
    started = _measured("start", kafkapy={"seconds": 1.0})
    results.keep(started, revision="def with changes on Python 3", adds=False)
    with pytest.raises(Refused, match="abc on Python 3, def with changes"):
        publish(tmp_path, tmp_path / "published")
    started.failures["start"] = {"apache": "fell over"}
    results.keep(started, revision="abc on Python 3", adds=False)
    with pytest.raises(Refused, match="failures in start"):
        publish(tmp_path, tmp_path / "published")
    assert not (tmp_path / "published").exists()


def test_the_figure_of_the_readme_is_of_what_is_committed() -> None:
    """Each of its rows is there, measured on both; the spread lies around what is told."""
    rows = Results("bench", PUBLISHED).rows
    released = list(plots._released())
    assert 10 <= len(released) <= 14
    for row, figure, label in released:
        line = plots.Line(label, figure, rows[row.id]["rounds"])
        assert line.ratios(APACHE), label
        assert line.middle(APACHE) > 0


def test_nothing_is_committed_that_no_page_needs() -> None:
    kept = {"bench.json", "bench.md", "bench-ahead.png", "soak.md"}
    assert {path.name for path in PUBLISHED.iterdir()} == kept
