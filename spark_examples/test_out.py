"""A run removes nothing that is not its own."""

from pathlib import Path

import pytest

from spark_examples import out


def test_a_directory_that_holds_something_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("mine")
    with pytest.raises(FileExistsError, match="not empty"):
        out.emptied(tmp_path, "stream")
    assert (tmp_path / "letters").read_text() == "mine"
    assert out.emptied(tmp_path / "new", "stream") == tmp_path / "new"
    assert out.emptied(tmp_path / "new", "stream") == tmp_path / "new"


def test_what_the_last_run_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "_OUT", tmp_path)
    (out.emptied(None, "stream") / "counts").write_text("old")
    assert list(out.emptied(None, "stream").iterdir()) == []
