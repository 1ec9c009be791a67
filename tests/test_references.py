"""scripts/references: what the repository refers to is there, and what is not is found."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def complaints(root: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts/references", root], capture_output=True, text=True
    )
    return done.stdout.splitlines() if done.returncode else []


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name, text in {
        "docs/formats/log.md": "# Log\n\n## 1. Names\n\n## 2. Text checkpoints\n",
        "docs/decisions/0001-a.md": "# 0001: a\n",
        "docs/PLAN.md": "# Plan\n\n## 2. The tree\n",
        "kafkapy/log/names.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_this_repository_refers_to_nothing_that_is_not_there() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no repository around these tests")
    assert complaints(ROOT) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "# formats/log 1 and 2, log/names.py, decision 0001, PLAN section 2"),
        ("kafkapy/log/b.py", "# formats/log 1 to 2; KIP-98. HTTP 1.1, KRAFT section"),
        ("a.md", "[names](docs/formats/log.md#1-names) `log/names.py` `kafkapy/log/` PLAN.md"),
        ("docs/a.md", "[names](formats/log.md) `names` `a/b` <https://a.b/c.md>"),
        ("kafkapy/log/README.md", "`names.py` `log/names.py`"),
        ("docs/a.md", "`names.py`"),
        ("docs/TESTING_A.md", "`conftest.py` of yours"),
    ],
)
def test_what_is_there_may_be_referred_to(repository: Path, name: str, text: str) -> None:
    (repository / name).write_text(text)
    assert complaints(repository) == []


@pytest.mark.parametrize(
    ("name", "text", "missing"),
    [
        ("a.py", "# formats/log 3", "formats/log 3"),
        ("a.py", "# formats/log 1 to 4", "formats/log 3|formats/log 4"),
        ("a.py", "# formats/log 1, 2 and 7.", "formats/log 7"),
        ("a.py", "# formats/records 1", "the page formats/records"),
        ("a.py", "# formats/log", "formats/log is cited without a section"),
        ("a.py", "# decision 0002", "decision 0002"),
        ("a.toml", "# DESIGN section 2", "the page DESIGN"),
        ("a.toml", "# PLAN section 3", "PLAN section 3"),
        ("a.py", "# see DESIGN.md", "the page DESIGN"),
        ("a.py", "# log/gone.py does", "the file log/gone.py"),
        ("a.md", "[x](docs/gone.md)", "the file docs/gone.md"),
        ("a.md", "[x](docs/formats/log.md#7-gone)", "the heading docs/formats/log.md#7-gone"),
        ("a.md", "[x](../outside.md)", "the file ../outside.md"),
        ("kafkapy/log/README.md", "`gone.py` `log/gone/`", "the file gone.py|the file log/gone/"),
    ],
)
def test_what_is_not_there_is_told(repository: Path, name: str, text: str, missing: str) -> None:
    (repository / name).write_text(text)
    assert complaints(repository) == [f"{name}: no {one}" for one in missing.split("|")]
