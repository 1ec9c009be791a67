"""Clients in other languages: a small program per client, built once, run once per test.

    program HOST:PORT TEST TOPIC        exits 0, or says what was wrong and exits 1

Go and Java programs are built into the cache; Node's packages go beside package.json.
Versions are pinned in go.mod, package.json and installation.py, and fetched with the
ordinary clients of each language.
"""

import fcntl
import hashlib
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from compat_tests.behaviours import mark
from compat_tests.installation import Bundle, Unavailable, cache, log4j_properties, require

_GO = (".go", ".mod", ".sum")

Tests = Mapping[str, tuple[str, ...]]


def rows(tests: Tests) -> list[object]:
    """The tests of a program as parameters, each marked with the behaviours it proves."""
    return [pytest.param(name, id=name, marks=mark(*ids)) for name, ids in tests.items()]


def go_program(folder: Path) -> list[str]:
    """The command of the Go program in `folder`, built if its sources changed."""
    if shutil.which("go") is None:
        raise Unavailable("no go on the PATH")
    sources = sorted(
        file for module in _modules(folder) for file in module.iterdir() if file.suffix in _GO
    )
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:12]
    program = cache() / "programs" / f"{folder.name}-{digest}"
    with _only_one_builds(folder.name):
        if not program.exists():
            _run(["go", "build", "-o", str(program), "."], folder)
    return [str(program)]


def java_program(folder: Path, bundle: Bundle, main: str) -> list[str]:
    """The command of the Java program in `folder/src` on top of the bundle's jars."""
    require(bundle)
    if shutil.which("javac") is None:
        raise Unavailable("no javac on the PATH (a JDK of Java 17 or newer)")
    sources = sorted((folder / "src").glob("*.java"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:12]
    classes = cache() / "programs" / f"{folder.name}-{bundle.name}-{digest}"
    with _only_one_builds(f"{folder.name}-{bundle.name}"):
        if not classes.exists():
            made = classes.with_name(f"{classes.name}.part")
            shutil.rmtree(made, ignore_errors=True)
            command = ["javac", "-nowarn", "-d", str(made), "-cp", bundle.class_path]
            _run([*command, *map(str, sources)], folder)
            made.rename(classes)
    options = ["-Xmx256m", "-XX:TieredStopAtLevel=1"]
    options.append(f"-Dlog4j2.configurationFile={log4j_properties(bundle)}")
    return ["java", *options, "-cp", f"{classes}:{bundle.class_path}", main]


def node_program(folder: Path) -> list[str]:
    """The command of the Node program in `folder`, its packages installed."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise Unavailable(f"no {tool} on the PATH")
    with _only_one_builds(folder.name):
        if not (folder / "node_modules").is_dir():
            command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"]
            _run(command, folder)
    return ["node", str(folder / "main.js")]


def check(command: list[str], broker: str, test: str, topic: str) -> None:
    """Run one test of a program; what it says is the failure."""
    done = subprocess.run(
        [*command, broker, test, topic],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-2000:]}"


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")


def _modules(folder: Path) -> Iterator[Path]:
    """Its own, and those beside it that its go.mod takes from there."""
    yield folder
    for found in re.finditer(r"=> (\.\./\S+)", (folder / "go.mod").read_text()):
        yield folder / found[1]


@contextmanager
def _only_one_builds(name: str) -> Iterator[None]:
    (cache() / "programs").mkdir(parents=True, exist_ok=True)
    with (cache() / "programs" / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
