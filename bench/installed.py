"""kafkapy as its users have it: in a clean environment, its sources compiled.

The environment of the developers will not do: packages that are only there for tests slow
every start (kio imports hypothesis where it finds it), and so does PYTHONDONTWRITEBYTECODE,
which makes each start compile all sources again.

    .venv-bench/python-DIGEST/    an environment with what kafkapy depends on, made once
    .venv-bench/kafkapy-DIGEST/   the package, copied and compiled, one for each state of
                                  the sources that was measured; old ones are removed
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
import venv
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_PLACE = _ROOT / ".venv-bench"
_SOURCES = ("kafkapy", "pyproject.toml", "constraints.txt")
_KEPT = 3


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
        environment = _environment(sources)
        package = _PLACE / f"kafkapy-{_digest(sorted((sources / 'kafkapy').rglob('*')))}"
        if not package.exists():
            new = Path(tempfile.mkdtemp(dir=_PLACE, prefix="new-"))
            shutil.move(sources / "kafkapy", new / "kafkapy")
            compile_all = [str(environment / "bin" / "python"), "-m", "compileall", "-q", str(new)]
            subprocess.run(compile_all, check=True, env=_plain_environment(), timeout=300)
            new.rename(package)
        os.utime(package)
        _forget_old()
    command = (str(environment / "bin" / "python"), "-m", "kafkapy")
    return Installed(command, {**_plain_environment(), "PYTHONPATH": str(package)})


def described(revision: str | None) -> str:
    """What is measured, for the results: a commit, and whether files differ from it."""
    commit = _git("rev-parse", "--short", revision or "HEAD").decode().strip()
    if revision is None and _git("status", "--porcelain", "--", "kafkapy"):
        return f"{commit} with changes"
    return commit


def _take(revision: str | None, sources: Path) -> None:
    if revision is not None:
        archive = _git("archive", revision, "--", *_SOURCES)
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(sources, filter="data")
        return
    for name in _SOURCES:
        source = _ROOT / name
        if source.is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(source, sources / name, ignore=skipped)
        else:
            shutil.copy(source, sources / name)


@contextmanager
def _only_one() -> Iterator[None]:
    """Two benches may run beside each other; only one of them installs."""
    _PLACE.mkdir(exist_ok=True)
    with (_PLACE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _environment(sources: Path) -> Path:
    """The environment with what these sources depend on."""
    wanted = tomllib.loads((sources / "pyproject.toml").read_text())["project"]["dependencies"]
    pins = sources / "constraints.txt"
    environment = _PLACE / f"python-{_digest([pins], *wanted, sys.version)}"
    if not (environment / "complete").exists():
        venv.create(environment, with_pip=True, clear=True)
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
