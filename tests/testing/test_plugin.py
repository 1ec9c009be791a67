"""The pytest plugin, in a pytest run of its own with warnings as errors, under xdist too."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TESTS = """
import pytest
from confluent_kafka import Producer

def write(kafka, value):
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    producer.produce("orders", value)
    assert producer.flush(10) == 0

def test_one(kafka):
    write(kafka, b"1")
    assert len(kafka.records("orders")) == 1

def test_other(kafka):
    write(kafka, b"2")
    assert [one.value for one in kafka.records("orders")] == [b"2"]

def test_shared(kafka_session):
    kafka_session.create_topic("t")

def test_unused_fault(kafka):
    kafka.faults.on("Produce").drop()

def test_unused_fault_of_the_session(kafka_session):
    kafka_session.faults.on("Fetch").drop()

def test_after_it(kafka_session):
    kafka_session.create_topic("u")

def test_failure(kafka):
    kafka.faults.on("JoinGroup").drop()
    assert 1 + 1 == 3

@pytest.mark.kafka(settings={"auto.create.topics.enable": "false"}, api_versions="2.8")
class TestMarked:
    def test_settings(self, kafka):
        producer = Producer({"bootstrap.servers": kafka.bootstrap})
        assert "x" not in kafka.topics()
        assert producer.list_topics("x", timeout=10).topics["x"].error is not None

    @pytest.mark.kafka(on_disk=True)
    def test_files(self, kafka, tmp_path):
        kafka.create_topic("t")
        assert (tmp_path / "t-0").is_dir()

@pytest.mark.kafka(api_version="2.8")
def test_misspelled_mark(kafka):
    pass
"""
ROOT = Path(__file__).parents[2]
# Other plugins cost the run inside more than the brokers do.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def test_the_plugin_is_registered_under_the_packages_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"kafkapy": "kafkapy.testing.plugin"}


def test_importing_the_plugin_imports_no_broker() -> None:
    """Everybody's pytest pays for what it imports."""
    show = "import sys, kafkapy.testing.plugin; print('trio' in sys.modules, 'kio' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", show], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.timeout(240)
def test_a_run_of_users_is_clean_and_unused_faults_are_said(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(TESTS)
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "xdist", "-n", "1"]
    done = subprocess.run(
        [*run, "-p", "kafkapy.testing.plugin", "-W", "error", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=200,
        env={**os.environ, "PYTHONPATH": str(ROOT), **ALONE},
    )
    assert "1 failed, 8 passed, 3 errors" in done.stdout, done.stdout + done.stderr
    assert "faults.on('Produce').drop(): no request matched" in done.stdout
    assert "faults.on('Fetch').drop(): no request matched" in done.stdout
    assert "assert (1 + 1) == 3" in done.stdout
    assert "faults.on('JoinGroup').drop()" not in done.stdout
    assert "it takes settings, api_versions, on_disk, nodes, protocol, by name" in done.stdout
    assert "Warning" not in done.stdout + done.stderr
