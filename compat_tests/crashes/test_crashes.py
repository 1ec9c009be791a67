"""A few deaths in every `make test`; a hundred with `make crash ROUNDS=100`."""

from pathlib import Path

import pytest

from compat_tests import installation
from compat_tests.crashes.run import Run
from compat_tests.targets import server

ROUNDS = 5


def test_transactions_survive_kill_9(target: str, tmp_path: Path) -> None:
    """Writers, a copy with its offsets and readers, while their broker is killed and started
    again: nothing is torn, lost or doubled, and no last stable offset stays behind."""
    broker = server(target, tmp_path / "server")
    try:
        Run(broker, seed=1).go(ROUNDS)
    except installation.Unavailable as reason:
        pytest.skip(str(reason))
    finally:
        broker.stop()
