"""kio is imported without what it does where hypothesis is installed."""

import subprocess
import sys
from pathlib import Path

LOOK = """
import sys
if sys.argv[1] == "loaded":
    import hypothesis.strategies
    before = hypothesis
import kafkapy.protocol.messages
import kio.static._phantom
assert kio.static._phantom.hypothesis is None
assert sys.argv[1] == "loaded" or "hypothesis" not in sys.modules
import hypothesis.strategies
assert hypothesis.strategies.integers
assert sys.argv[1] != "loaded" or hypothesis is before
print("both")
"""


def test_hypothesis_is_neither_used_nor_harmed(tmp_path: Path) -> None:
    for already in ("loaded", "not loaded"):
        done = subprocess.run(
            [sys.executable, "-c", LOOK, already],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            env={"PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        assert done.stdout == "both\n", done.stderr
    assert list(tmp_path.iterdir()) == []
