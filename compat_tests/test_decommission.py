"""A broker is taken out of a cluster under load.

The clients have a process of their own: a library that aborts must not take this one along.
"""

import sys
from pathlib import Path

import pytest

from compat_tests.processes import PROCESSES, run_unless_aborted

_ROOT = Path(__file__).resolve().parent.parent
_PATIENCE_S = 300.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(_PATIENCE_S * PROCESSES)]


@pytest.mark.parametrize(
    "options", [pytest.param([], id="alive"), pytest.param(["--kill"], id="dead")]
)
def test_a_broker_of_four_is_decommissioned(options: list[str], tmp_path: Path) -> None:
    """Nothing acknowledged is lost, nothing doubled or torn, groups miss nothing, the replicas
    that are left are the same bytes, and nobody knows the broker any more."""
    command = [sys.executable, "-m", "compat_tests.decommission", "--data", str(tmp_path), *options]
    done = run_unless_aborted(command, cwd=_ROOT, timeout_s=_PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
