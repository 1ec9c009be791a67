"""The plugin as users get it: a wheel, installed into an empty environment with pytest."""

import os
import shutil
import subprocess
import sys
import venv
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


def run(*command: str | Path, cwd: Path) -> str:
    plain = {name: one for name, one in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, timeout=240, check=False, env=plain
    )
    if "Temporary failure in name resolution" in done.stderr or "connection" in done.stderr:
        pytest.skip(f"no package index answers: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(590)
def test_a_wheel_brings_the_fixtures_with_its_runtime_dependencies_alone(tmp_path: Path) -> None:
    sources = tmp_path / "sources"  # setuptools leaves a directory behind where it builds
    shutil.copytree(ROOT / "kafkapy", sources / "kafkapy")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, sources)
    run(sys.executable, *PIP, "wheel", "--no-deps", "-w", tmp_path, sources, cwd=tmp_path)
    (wheel,) = tmp_path.glob("kafkapy-*.whl")
    venv.create(tmp_path / "user", with_pip=True)
    python = tmp_path / "user" / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, *PIP, "install", "-c", ROOT / "constraints.txt", wheel, "pytest", cwd=tmp_path)
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_shop.py").write_text(TESTS)
    (tests / "test_plain.py").write_text(NO_BROKER)
    run_pytest = (python, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "1 passed" in run(*run_pytest, "test_plain.py", cwd=tests)
    assert "2 passed" in run(*run_pytest, "test_shop.py", cwd=tests)
    assert "kafka_async" in run(*run_pytest, "--fixtures", cwd=tests)
    assert "@pytest.mark.kafka(settings={}" in run(*run_pytest, "--markers", cwd=tests)
    run(python, "-m", "kafkapy", "--version", cwd=tests)
