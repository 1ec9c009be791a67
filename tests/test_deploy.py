"""What deploy/ holds is checked by the tools that read it, where they are."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kafkapy.cli.main import COMMANDS
from kafkapy.http.entrance.entry import OPEN

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "kafkapy.service"
    text = (DEPLOY / "kafkapy.service").read_text()
    unit.write_text(text.replace("/opt/kafkapy/bin/kafkapy", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60
    )
    told = [line for line in done.stderr.splitlines() if "kafkapy" in line]
    assert (done.returncode, told) == (0, [])


def test_what_the_files_start_is_there() -> None:
    for name in ("kafkapy.service", "kubernetes.yaml"):
        text = (DEPLOY / name).read_text()
        assert "kafkapy serve --config" in text or "command: [kafkapy, health" in text
    assert {"serve", "health", "doctor"} <= set(COMMANDS)


def test_probes_ask_where_nobody_has_to_log_in() -> None:
    (pod,) = (
        each["spec"]["template"]["spec"]["containers"][0]
        for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
        if each["kind"] == "StatefulSet"
    )
    probes = [pod[name]["httpGet"] for name in ("readinessProbe", "livenessProbe")]
    assert {one["path"] for one in probes} == OPEN
    (port,) = (one["containerPort"] for one in pod["ports"] if one["name"] == "http")
    told = {one["name"]: one.get("value") for one in pod["env"]}
    assert told["KAFKAPY_HTTP_LISTENERS"] == f"http://0.0.0.0:{port}"
