"""`Member.java` compiled once into the cache, on the class path of Apache Kafka's tools."""

import hashlib
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from compat_tests import installation, oracle

_SOURCE = Path(__file__).with_name("Member.java")


@cache
def command() -> list[str]:
    """The start of its command line; `Unavailable` without a JDK."""
    bundle = installation.require()
    if shutil.which("javac") is None:
        raise installation.Unavailable("no javac on the PATH")
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:12]
    classes = installation.cache() / "programs" / f"java-member-{digest}"
    if not classes.exists():
        _compile(bundle.class_path, classes)
    *start, class_path = oracle.java(bundle, heap="96m")
    return [*start, f"{class_path}:{classes}", "Member"]


def _compile(class_path: str, classes: Path) -> None:
    classes.parent.mkdir(parents=True, exist_ok=True)
    made = tempfile.mkdtemp(dir=classes.parent)
    arguments = ["javac", "-nowarn", "-d", made, "-cp", class_path, str(_SOURCE)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"javac: {done.stdout}{done.stderr}")
    if not classes.exists():
        Path(made).rename(classes)
