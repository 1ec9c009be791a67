"""kafkapy as its users have it: installed with pip into a clean environment, compiled.

The environment of the developers will not do: packages that are only there for tests slow
every start (kio imports hypothesis where it finds it), and so does PYTHONDONTWRITEBYTECODE,
which makes each start compile all sources again. One environment is kept for each state of
the sources, in .venv-bench/ of the checkout; old ones are removed.
"""

import functools
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_ENVIRONMENTS = _ROOT / ".venv-bench"
_SOURCES = ("kafkapy", "pyproject.toml", "constraints.txt", "README.md")
_KEPT = 3


def server_environment() -> dict[str, str]:
    """This process's environment without what would change how an installed kafkapy runs."""
    dropped = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "VIRTUAL_ENV", "PYTHONUNBUFFERED"}
    return {key: value for key, value in os.environ.items() if key not in dropped}


@functools.cache
def kafkapy_command(revision: str | None = None) -> tuple[str, ...]:
    """The installed `kafkapy` of the working tree, or of a commit."""
    with tempfile.TemporaryDirectory(prefix="kafkapy-bench-") as scratch:
        sources = Path(scratch)
        _take(revision, sources)
        environment = _ENVIRONMENTS / _digest(sources)
        if not (environment / "installed").exists():
            _install(sources, environment)
    os.utime(environment)
    _forget_old()
    return (str(environment / "bin" / "kafkapy"),)


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


def _digest(sources: Path) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(sources.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(sources)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _install(sources: Path, environment: Path) -> None:
    venv.create(environment, with_pip=True, clear=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    command = [*pip, "install", "--quiet", "-c", str(sources / "constraints.txt"), str(sources)]
    subprocess.run(command, check=True, env=server_environment(), timeout=600)
    (environment / "installed").touch()


def _forget_old() -> None:
    by_age = sorted(_ENVIRONMENTS.iterdir(), key=lambda path: path.stat().st_mtime)
    for environment in by_age[:-_KEPT]:
        shutil.rmtree(environment)


def _git(*arguments: str) -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=_ROOT, check=True, capture_output=True, timeout=60
    ).stdout
