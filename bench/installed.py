"""kafkapy as its users have it: in a clean environment, its request paths compiled.

The environment of the developers will not do: packages that are only there for tests slow
every start (kio imports hypothesis where it finds it), and so does PYTHONDONTWRITEBYTECODE,
which makes each start compile all sources again. Nor will any Python: distributions build
theirs with a profile of what programs do, which is a sixth of the time of each request.

    .venv-bench/python-DIGEST/    an environment with what kafkapy depends on, made once
    .venv-bench/kafkapy-DIGEST/   the package, compiled (docs/decisions/0006), one for each
                                  state of the sources that was measured; old ones are removed
"""

import fcntl
import functools
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_PLACE = _ROOT / ".venv-bench"
_SOURCES = (
    "kafkapy",
    "setup.py",
    "scripts/backend.py",
    "pyproject.toml",
    "constraints.txt",
    "README.md",
    "LICENSE",
)
_COMPILE = _ROOT / "scripts" / "compile"
_KEPT = 3
_DISTRIBUTION_PYTHON = "/usr/bin/python3"
# Says nothing unless that Python can be used: new enough, and what extensions are built with.
_LOOK_AT_IT = """
import os, sys, sysconfig, timeit, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
if sys.version_info >= (3, 11) and os.path.exists(header):
    took = min(timeit.repeat("sum([n % 7 for n in range(9999)])", number=20, repeat=9))
    print(took, sys.version.split()[0])
"""


@dataclass(frozen=True, slots=True)
class Installed:
    command: tuple[str, ...]
    environment: Mapping[str, str]


@functools.cache
def kafkapy(revision: str | None = None) -> Installed:
    """How to start the kafkapy of the working tree, or of a commit."""
    with ExitStack() as stack:
        sources = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafkapy-bench-")))
        _take(revision, sources)
        stack.enter_context(_only_one())
        python = str(_environment(sources) / "bin" / "python")
        files = [
            *sorted((sources / "kafkapy").rglob("*")),
            *sources.glob("*.py"),
            *sources.glob("scripts/*.py"),
            *sources.glob("*.t*"),
        ]
        package = _PLACE / f"kafkapy-{_digest(files, _python()[0])}"
        if not package.exists():
            print(f"bench: compiles kafkapy for {_python()[1]}", flush=True)
            new = package.with_name(f"new-{package.name}")
            compile_it = [python, str(_COMPILE), str(new), str(sources)]
            subprocess.run(compile_it, check=True, env=_plain_environment(), timeout=900)
            new.rename(package)
        os.utime(package)
        _forget_old()
    # -P: not what is in the current directory, which may be another kafkapy.
    command = (python, "-P", "-m", "kafkapy")
    return Installed(command, {**_plain_environment(), "PYTHONPATH": str(package)})


def described(revision: str | None) -> str:
    """What is measured, for the results: a commit, and whether files differ from it."""
    commit = _git("rev-parse", "--short", revision or "HEAD").decode().strip()
    if revision is None and _git("status", "--porcelain", "--", "kafkapy"):
        commit += " with changes"
    return f"{commit} on {_python()[1]}"


@functools.cache
def _python() -> tuple[str, str]:
    """The faster of two Pythons, the one that runs this and the distribution's, and its name."""
    found: list[tuple[float, str, str]] = []
    for path in (sys.executable, _DISTRIBUTION_PYTHON):
        command = [path, "-I", "-c", _LOOK_AT_IT]
        if Path(path).exists():
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
            if done.returncode == 0 and (said := done.stdout.split()):
                found.append((float(said[0]), path, f"Python {said[1]}"))
    if not found:
        raise RuntimeError("no Python 3.11 or newer with its headers (Python.h)")
    _, path, name = min(found)
    return path, name


def _take(revision: str | None, sources: Path) -> None:
    if revision is not None:
        there = _git("ls-tree", "--name-only", revision, "--", *_SOURCES).decode().split()
        archive = _git("archive", revision, "--", *there)
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(sources, filter="data")
        return
    for name in _SOURCES:
        source = _ROOT / name
        if source.is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(source, sources / name, ignore=skipped)
        else:
            (sources / name).parent.mkdir(exist_ok=True)
            shutil.copy(source, sources / name)


@contextmanager
def _only_one() -> Iterator[None]:
    """Two benches may run beside each other; only one of them installs."""
    _PLACE.mkdir(exist_ok=True)
    with (_PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _environment(sources: Path) -> Path:
    """The environment with what these sources depend on, and what their HTTP needs."""
    project = tomllib.loads((sources / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project.get("optional-dependencies", {}).get("http", [])
    pins = sources / "constraints.txt"
    python, name = _python()
    environment = _PLACE / f"python-{_digest([pins], *wanted, python, name)}"
    if not (environment / "complete").exists():
        make = [python, "-m", "venv", "--clear", str(environment)]
        subprocess.run(make, check=True, env=_plain_environment(), timeout=300)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        command = [*pip, "install", "--quiet", "-c", str(pins), *wanted]
        subprocess.run(command, check=True, env=_plain_environment(), timeout=900)
        (environment / "complete").touch()
    return environment


def _plain_environment() -> dict[str, str]:
    """This process's environment without what would change how an installed kafkapy runs."""
    dropped = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "VIRTUAL_ENV", "PYTHONUNBUFFERED"}
    return {key: value for key, value in os.environ.items() if key not in dropped}


def _digest(files: Iterable[Path], *words: str) -> str:
    digest = hashlib.sha256("\0".join(words).encode())
    for path in files:
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _forget_old() -> None:
    by_age = sorted(_PLACE.glob("kafkapy-*"), key=lambda path: path.stat().st_mtime)
    for package in by_age[:-_KEPT]:
        shutil.rmtree(package)


def _git(*arguments: str) -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=_ROOT, check=True, capture_output=True, timeout=60
    ).stdout
