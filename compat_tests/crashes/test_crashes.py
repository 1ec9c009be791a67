"""A few deaths in every `make test`; a hundred with `make crash ROUNDS=100`.

The clients have a process of their own: a library that aborts must not take this one along.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.crashes import UNAVAILABLE

ROUNDS = 5
# An abort of librdkafka (README.md) says nothing about the server: another process has a go.
PROCESSES = 3
_ROOT = Path(__file__).resolve().parent.parent.parent
_PATIENCE_S = 300.0


def test_transactions_survive_kill_9(target: str, tmp_path: Path) -> None:
    """Writers, a copy with its offsets and readers, while their broker is killed and started
    again: nothing is torn, lost or doubled, and no last stable offset stays behind."""
    command = [sys.executable, "-m", "compat_tests.crashes", "--target", target]
    command += ["--rounds", str(ROUNDS), "--data", str(tmp_path)]
    for _ in range(PROCESSES):
        done = subprocess.run(
            command, cwd=_ROOT, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
        if done.returncode != -signal.SIGABRT:
            break
    if done.returncode == UNAVAILABLE:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
