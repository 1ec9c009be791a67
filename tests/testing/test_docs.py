"""docs/TESTING_YOUR_APP.md and examples/testing do what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Other plugins cost the run inside more than the brokers do.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
PLUGINS = ("-p", "no:cacheprovider", "-p", "kafkapy.testing.plugin")
SNIPPETS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs/TESTING_YOUR_APP.md").read_text(), re.S | re.M
)


def run_pytest(*arguments: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *PLUGINS, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=200,
        env={**os.environ, "PYTHONPATH": str(ROOT), **ALONE},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(240)
def test_every_snippet_runs(tmp_path: Path) -> None:
    """In one run of pytest. Snippets that are scripts run when their module is imported."""
    assert len(SNIPPETS) >= 8
    tests = 0
    for number, snippet in enumerate(SNIPPETS):
        (tmp_path / f"test_{number}.py").write_text(snippet)
        tests += len(re.findall(r"^(?:async )?def test_", snippet, re.M))
    assert f"{tests} passed" in run_pytest("-W", "error", tmp_path, cwd=tmp_path)


@pytest.mark.timeout(240)
def test_the_examples_tell_right_from_wrong(tmp_path: Path) -> None:
    """Theirs are the tests; here they are run where no settings of this project reach."""
    for file in (ROOT / "examples/testing").glob("*.py"):
        (tmp_path / file.name).write_text(file.read_text())
    done = run_pytest("-W", "error", tmp_path, cwd=tmp_path)
    assert re.search(r"^\d+ passed", done, re.M), done


@pytest.mark.timeout(240)
def test_the_examples_of_queues_work(tmp_path: Path) -> None:
    for file in (ROOT / "examples/queues").glob("*.py"):
        (tmp_path / file.name).write_text(file.read_text())
    done = run_pytest(tmp_path, cwd=tmp_path)
    assert re.search(r"^\d+ passed", done, re.M), done
