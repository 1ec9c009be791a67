"""What Transactions.java shows with the Java client that comes with the tools, one JVM a test."""

import hashlib
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from compat_tests import programs
from compat_tests.installation import Unavailable, cache, require
from compat_tests.oracle import java

SOURCE = Path(__file__).with_name("Transactions.java")
TESTS: programs.Tests = {
    "fencing": ("txn-fencing",),
    "timeout": ("txn-timeout",),
    "fifty": ("txn-commit", "txn-abort", "txn-isolation", "many-partitions"),
    "copy": ("txn-offsets", "txn-exactly-once"),
}


@pytest.fixture(scope="module")
def program() -> list[str]:
    try:
        bundle = require()
        if shutil.which("javac") is None:
            raise Unavailable("no javac on the PATH (a JDK of Java 17 or newer)")
    except Unavailable as reason:
        pytest.skip(str(reason))
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    classes = cache() / "programs" / f"java-transactions-{digest}"
    if not classes.exists():
        classes.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=classes.parent))
        command = ["javac", "-nowarn", "-d", str(made), "-cp", bundle.class_path, str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with suppress(OSError):  # another worker was first
            made.rename(classes)
    *start, class_path = java(bundle, heap="96m")
    return [*start, f"{class_path}:{classes}", "Transactions"]


@pytest.mark.parametrize("test", programs.rows(TESTS))
def test_the_java_producer(program: list[str], broker: str, topic: str, test: str) -> None:
    programs.check(program, broker, test, topic)
