"""Outcomes of the last runs, one JSON file per client and target.

    .compat/results/<client>.<target>.json   {"tests": {test: {behaviours, outcome, reason}}}

Of several nodes it is <client>.<target>-3.json, and while nodes are restarted -3-disturbed.json.

A run replaces the outcomes of the tests it ran and keeps the others, so that clients and areas
can be run one at a time. `make compat` runs all, and begins with an empty directory.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

DIRECTORY = Path(__file__).resolve().parent.parent / ".compat" / "results"


def kind(target: str, nodes: int = 1, disturbed: bool = False) -> str:
    """What outcomes are told by: the target, and how many nodes it had if not one."""
    return target + (f"-{nodes}" if nodes > 1 else "") + ("-disturbed" if disturbed else "")


class Recorder:
    """A pytest plugin of the process that reports: it sees every test's phases."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties = dict(report.user_properties)
        if "compat" not in properties:
            return
        facts = json.loads(str(properties["compat"]))
        outcomes = self._outcomes[facts["client"], facts["target"]]
        was = outcomes.get(report.nodeid, {}).get("outcome", "passed")
        outcomes[report.nodeid] = {
            "behaviours": facts["behaviours"],
            "outcome": report.outcome if was == "passed" else was,
            "reason": _reason(report),
        }

    def pytest_sessionfinish(self) -> None:
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        for (client, target), outcomes in self._outcomes.items():
            file = DIRECTORY / f"{client}.{target}.json"
            earlier = json.loads(file.read_text())["tests"] if file.exists() else {}
            tests = {**earlier, **outcomes}
            file.write_text(json.dumps({"tests": tests}, indent=1, sort_keys=True) + "\n")


def _reason(report: pytest.TestReport) -> str:
    if report.passed:
        return ""
    if isinstance(report.longrepr, tuple):  # how pytest tells a skip
        return str(report.longrepr[2])
    return str(report.longrepr).strip().splitlines()[-1][:300]
