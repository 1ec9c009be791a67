"""A few troubles in every `make test`; all of them, and for long, with `make chaos`.

The clients have a process of their own: a library that aborts must not take this one along.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from compat_tests.chaos.cluster import Cluster
from compat_tests.chaos.run import Broken, Run
from compat_tests.chaos.troubles import TOPIC
from compat_tests.clusters import KAFKAPY
from compat_tests.crashes import STUCK, UNAVAILABLE

TROUBLES = (
    "kill -9, a leader",
    "stop, the active controller",
    "broken connections, a leader",
    "SIGSTOP, a leader",
    "slow, a leader",
    "cut off, a leader",
)
# An abort of librdkafka, or a call of it that hangs though a fresh client's works, says nothing
# about the server (crashes/README.md).
PROCESSES = 3
_ROOT = Path(__file__).resolve().parent.parent.parent
_PATIENCE_S = 500.0


@pytest.mark.timeout(1200)
def test_three_nodes_in_trouble_keep_their_promises(target: str, tmp_path: Path) -> None:
    """Plain and transactional producers, a copy, readers and groups of both protocols go on
    through each, and all that they were told is true."""
    command = [sys.executable, "-m", "compat_tests.chaos", "--target", target]
    command += ["--data", str(tmp_path)]
    for name in TROUBLES:
        command += ["--only", name]
    for _ in range(PROCESSES):
        done = subprocess.run(
            command, cwd=_ROOT, capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
        if done.returncode not in (-signal.SIGABRT, STUCK):
            break
    if done.returncode == UNAVAILABLE:
        pytest.skip(done.stderr)
    # What was broken is the last line of a traceback: a long report may be cut off before it.
    broken = done.stderr.strip().rpartition("\n")[2]
    assert done.returncode == 0, "\n".join((broken, done.stdout, done.stderr))


@pytest.mark.chaos
@pytest.mark.slow
def test_what_all_three_replicas_lost_is_told(tmp_path: Path) -> None:
    """The judges judged: behind the servers' backs the end of one log goes, everywhere."""
    cluster = Cluster(tmp_path, KAFKAPY)
    run = Run(cluster, seed=1, say=lambda line: None)
    try:
        run.start()
        run.stop_clients()
        cluster.stop(how=signal.SIGKILL)
        for node in cluster.nodes:
            (log,) = (cluster.data(node) / f"{TOPIC}-0").glob("*.log")
            with log.open("r+b") as file:
                file.truncate(log.stat().st_size // 2)
        cluster.start()
        with pytest.raises(Broken, match="lost"):
            run.judge()
    finally:
        cluster.close()
