"""A rolling upgrade of three nodes under load, a feature level finalized after the last one.

The clients have a process of their own: a library that aborts must not take this one along.
"""

import sys
from pathlib import Path

import pytest

from compat_tests.processes import PROCESSES, run_unless_aborted

_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_S = 400.0

pytestmark = [pytest.mark.slow, pytest.mark.migration, pytest.mark.timeout(_PATIENCE_S * PROCESSES)]


def test_three_nodes_are_upgraded_under_load(tmp_path: Path) -> None:
    """Nothing acknowledged is lost, nothing doubled or torn, groups miss nothing, the replicas'
    files are the same bytes; newer features are refused until the last node knows them."""
    command = [sys.executable, "-m", "compat_tests.upgrades.rolling", "--data", str(tmp_path)]
    done = run_unless_aborted(command, cwd=_ROOT, timeout_s=_PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "raised to {'metadata.version': '4.3-IV0', 'share.version': '2'}" in done.stdout
