"""Five hundred brokers in one run of pytest, each its test's own, and nothing left of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BROKERS = 500
# Measured 1 to 3; what a broker takes while it lives is some 2 MiB, so a leak would show.
MOST_GROWTH_MIB = 16

CONFTEST = """
import gc, os, threading

def figures():
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return threading.active_count(), len(os.listdir("/proc/self/fd")), resident

SAMPLES = []

def pytest_runtest_logfinish(nodeid):
    SAMPLES.append(None)
    if len(SAMPLES) in (50, %d):
        gc.collect()
        print("\\nfigures", *figures())
"""
TESTS = """
import pytest

@pytest.mark.parametrize("number", range(%d))
def test_own(kafka, number):
    assert kafka.topics() == {}
    kafka.produce("orders", str(number))
    (record,) = kafka.records("orders")
    assert (record.offset, record.value) == (0, str(number).encode())
"""


@pytest.mark.timeout(280)
def test_five_hundred_isolated_brokers_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST % BROKERS)
    (tmp_path / "test_shop.py").write_text(TESTS % BROKERS)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider",
         "-p", "kafkapy.testing.plugin", "-W", "error", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=270,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "TMPDIR": str(scratch),
        },
    )  # fmt: skip
    assert f"{BROKERS} passed" in done.stdout, done.stdout[-3000:] + done.stderr
    early, late = re.findall(r"figures (\d+) (\d+) ([\d.]+)", done.stdout)
    assert late[:2] == early[:2]  # threads, descriptors
    assert float(late[2]) - float(early[2]) < MOST_GROWTH_MIB
    assert list(scratch.iterdir()) == []
