"""A broker for one test: how soon it is there, how soon it is gone, and what 500 leave behind.

kafkapy's is in the test's own process (kafkapy.testing); the others can only be a process of
their own, started and stopped. `first_ms` is the first broker of a process, imports included.
"""

import json
import subprocess
import time
from dataclasses import dataclass

from bench import installed
from bench.row import KAFKAPY, Figure, Figures, Row
from bench.run import Run

READY = Figure("ready_ms", "ms to ready")
GONE = Figure("gone_ms", "ms to gone")

_BROKERS = 500
_SCRIPT = """
import json, os, statistics, sys, threading, time

def left():
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return threading.active_count(), len(os.listdir("/proc/self/fd")), resident

began = time.perf_counter()
from kafkapy.testing import Broker
with Broker() as kafka:
    first = time.perf_counter() - began
ready, gone, early = [], [], None
for number in range(int(sys.argv[1])):
    began = time.perf_counter()
    kafka = Broker()
    kafka.start()
    ready.append(time.perf_counter() - began)
    kafka.produce("orders", str(number))
    assert len(kafka.records("orders")) == 1
    began = time.perf_counter()
    kafka.close()
    gone.append(time.perf_counter() - began)
    if number == 49:
        early = left()
late = left()
print(json.dumps({
    "first_ms": first * 1e3,
    "ready_ms": statistics.median(ready) * 1e3,
    "ready_max_ms": max(ready) * 1e3,
    "gone_ms": statistics.median(gone) * 1e3,
    "gone_max_ms": max(gone) * 1e3,
    "brokers": len(ready),
    "threads_left": late[0] - early[0],
    "descriptors_left": late[1] - early[1],
    "resident_mb": late[2],
    "resident_growth_mb": late[2] - early[2],
}))
"""


@dataclass(frozen=True, slots=True)
class FreshBroker:
    def __call__(self, run: Run) -> Figures:
        return _in_process() if run.target.name == KAFKAPY else _as_a_process(run)


def _in_process() -> Figures:
    found = installed.kafkapy()
    done = subprocess.run(
        [found.command[0], "-c", _SCRIPT, str(_BROKERS)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=dict(found.environment),
    )
    if done.returncode != 0:
        raise RuntimeError(f"the brokers failed: {done.stderr.strip()[-1000:]}")
    figures: Figures = json.loads(done.stdout)
    return figures


def _as_a_process(run: Run) -> Figures:
    began = time.perf_counter()
    with run.start() as server:
        ready = time.perf_counter() - began
        began = time.perf_counter()
        server.stop()
        gone = time.perf_counter() - began
    return {"ready_ms": ready * 1e3, "gone_ms": gone * 1e3}


ROWS = (
    Row(
        "fresh-broker",
        "a fresh broker for one test",
        FreshBroker(),
        (READY, GONE),
        starts_own=True,
        is_quick=True,
        note="kafkapy runs in the test's process, median of 500; the others are processes.",
    ),
)
