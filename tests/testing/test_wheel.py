"""The package as users get it: built as releases are, installed into an empty environment, where
the README's commands and the pytest plugin do what is written."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")

TESTS = """
import sys

def test_a_broker_is_there_without_a_word_of_set_up(kafka):
    kafka.produce("orders", "1", headers={"h": "x"})
    (record,) = kafka.wait_for("orders")
    assert (record.value, record.headers) == (b"1", (("h", b"x"),))

def test_the_one_of_the_session_too(kafka_session):
    assert kafka_session.topics() == {}
"""
NO_BROKER = """
import sys

def test_nothing_is_imported_for_a_test_without_a_broker():
    assert "kafkapy.testing.plugin" in sys.modules
    for module in ("trio", "kio", "kafkapy.broker", "kafkapy.testing.broker"):
        assert module not in sys.modules
"""


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    plain = {name: one for name, one in os.environ.items() if not name.startswith("PYTHON")}
    plain.update(variables)
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, timeout=240, check=False, env=plain
    )
    told = done.stdout + done.stderr
    is_alone = "Temporary failure in name resolution" in told or "connection broken" in told
    if done.returncode and is_alone:
        pytest.skip(f"no package index answers: {told.strip()[-200:]}")
    assert done.returncode == 0, told
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the sdist, and the wheel that was made from it."""
    place = tmp_path_factory.mktemp("built")
    sources = place / "sources"  # setuptools leaves a directory behind where it builds
    shutil.copytree(ROOT / "kafkapy", sources / "kafkapy")
    shutil.copytree(ROOT / "docs", sources / "docs")
    (sources / "scripts").mkdir()
    files = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE")
    for name in (*files, "CONTRIBUTING.md", "constraints.txt", "scripts/backend.py"):
        shutil.copy(ROOT / name, sources / name)
    url = {"KAFKAPY_PROJECT_URL": "https://example.org/kafkapy"}
    run(sys.executable, "-m", "build", "-o", place, sources, cwd=place, **url)
    return place


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel, what it depends on, and pytest."""
    place = tmp_path_factory.mktemp("user")
    venv.create(place, with_pip=True)
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    (wheel,) = built.glob("kafkapy-*.whl")
    run(python, *PIP, "install", "-c", ROOT / "constraints.txt", wheel, "pytest", cwd=place)
    return python


@pytest.mark.slow
@pytest.mark.timeout(590)
def test_a_wheel_brings_the_fixtures_with_its_runtime_dependencies_alone(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_shop.py").write_text(TESTS)
    (tmp_path / "test_plain.py").write_text(NO_BROKER)
    run_pytest = (installed, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "1 passed" in run(*run_pytest, "test_plain.py", cwd=tmp_path)
    assert "2 passed" in run(*run_pytest, "test_shop.py", cwd=tmp_path)
    assert "kafka_async" in run(*run_pytest, "--fixtures", cwd=tmp_path)
    assert "@pytest.mark.kafka(settings={}" in run(*run_pytest, "--markers", cwd=tmp_path)
    run(installed, "-m", "kafkapy", "--version", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(590)
def test_the_commands_of_the_readme_do_what_it_says(installed: Path, tmp_path: Path) -> None:
    """Each as it is written, in a shell, and the record that is printed at the end."""
    shown = _first_console(ROOT / "README.md")
    commands = [line.removeprefix("$ ") for line in shown if re.match(r"\$ (kafkapy|echo)", line)]
    assert len(commands) == 3
    path = f"{installed.parent}{os.pathsep}{os.environ['PATH']}"
    with _served(installed, tmp_path) as address:
        where = {"PATH": path, "KAFKAPY_BOOTSTRAP_SERVER": address}
        said = [run("bash", "-c", one, cwd=tmp_path, **where) for one in commands]
    assert _without_time(said[-1].strip()) == _without_time(shown[-1])


def _first_console(page: Path) -> list[str]:
    return page.read_text().partition("```console\n")[2].partition("```")[0].strip().splitlines()


def _without_time(line: str) -> str:
    return re.sub(r"\S+T\S+\+00:00", "NOW", line)


@contextmanager
def _served(python: Path, directory: Path) -> Iterator[str]:
    """The address of `kafkapy serve`, as the README starts it but on a free port."""
    serve = (python.with_name("kafkapy"), "serve", "--listen", "127.0.0.1:0", "--json")
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, cwd=directory) as process:
        assert process.stdout is not None
        try:
            events = (json.loads(line) for line in process.stdout)
            yield next(one["address"] for one in events if one["event"] == "serving")
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(590)
def test_the_metadata_says_what_an_index_shows(built: Path, installed: Path) -> None:
    code = "from importlib.metadata import metadata as m; print(m('kafkapy'))"
    shown = run(installed, "-c", code, cwd=built)
    assert "License-Expression: Apache-2.0\n" in shown
    assert "Classifier: Framework :: Pytest\n" in shown
    assert "Project-URL: Homepage, https://example.org/kafkapy\n" in shown
    assert "Project-URL: Changelog, https://example.org/kafkapy/" in shown
    versions = re.findall(r"Classifier: Programming Language :: Python :: (3\.\d+)", shown)
    assert "3.11" in versions


@pytest.mark.slow
@pytest.mark.timeout(590)
def test_the_sources_are_whole(built: Path) -> None:
    """An sdist has all modules, what builds it, and the pages that the README points to."""
    (archive,) = built.glob("kafkapy-*.tar.gz")
    with tarfile.open(archive) as packed:
        inside = {one.partition("/")[2] for one in packed.getnames()}
    modules = {str(one.relative_to(ROOT)) for one in (ROOT / "kafkapy").rglob("*.py")}
    assert modules <= inside
    assert {"setup.py", "scripts/backend.py", "LICENSE", "CHANGELOG.md"} <= inside
    assert {"docs/ARCHITECTURE.md", "docs/TESTING_YOUR_APP.md", "kafkapy/py.typed"} <= inside
    assert not {one for one in inside if one.startswith("tests")}
