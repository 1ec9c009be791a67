"""Apache Kafka's directories under kafkapy, and back, node by node under load: `make migration`.

The clients have a process of their own: a library that aborts must not take this one along.
"""

import sys
from pathlib import Path

import pytest

from compat_tests.crashes import UNAVAILABLE
from compat_tests.processes import PROCESSES, run_unless_aborted

_ROOT = Path(__file__).resolve().parent.parent
_PATIENCE_S = 600.0

pytestmark = [
    pytest.mark.java,
    pytest.mark.migration,
    pytest.mark.slow,
    pytest.mark.timeout(_PATIENCE_S * PROCESSES),
]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="clean stops, static voters"),
        pytest.param(["--kill", "--dynamic"], id="kill -9, dynamic voters"),
        pytest.param(["--separate"], id="controllers of their own"),
        pytest.param(["--separate", "--empty"], id="brokers with empty directories"),
    ],
)
def test_a_cluster_is_moved_to_kafkapy_and_back(options: list[str], tmp_path: Path) -> None:
    """Each node in turn, on the directories that it has (or on empty ones): nothing acknowledged
    is lost, nothing doubled or torn, groups miss nothing, replicas' files are the same bytes."""
    command = [sys.executable, "-m", "compat_tests.migration", "--data", str(tmp_path), *options]
    done = run_unless_aborted(command, cwd=_ROOT, timeout_s=_PATIENCE_S)
    if done.returncode == UNAVAILABLE:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
