"""Targets as fixtures, areas as marks, and outcomes as JSON for docs/COMPAT.md.

    pytest compat_tests --target apache|kafkapy|both [-m "records or admin"] [-n auto]
    pytest compat_tests --bootstrap kafkapy=127.0.0.1:9092     a server that runs already
    pytest compat_tests --nodes 3 [--disturbed]     three nodes (shared_cluster.py)

A target's server is started once per run, by the process that hands tests out, and serves
all tests: each makes topics of its own (`topic`), and none needs the server to be empty.
"""

import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests import installation, results, served, targets
from compat_tests.behaviours import AREAS, BEHAVIOURS
from compat_tests.shared_cluster import SharedCluster

_SERVERS = pytest.StashKey[dict[str, targets.Server]]()
_ADDRESSES = pytest.StashKey[dict[str, str]]()
# What no server can give while leaders change.
_MAY_BE_LOST = "what acks=0 or 1 acknowledged may be lost with a leader"
# kafka-python leaves some sockets of connections that were refused to the collector.
_LEFT_SOCKETS = "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
_SCRATCH = pytest.StashKey["tempfile.TemporaryDirectory[str]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("compat")
    choices = [*targets.TARGETS, "both"]
    group.addoption("--target", choices=choices, default="both", help="which servers to test")
    group.addoption(
        "--bootstrap",
        action="append",
        default=[],
        metavar="TARGET=HOST:PORT",
        help="use a server that is running instead of starting one",
    )
    group.addoption("--nodes", type=int, default=1, help="how many the shared server has")
    group.addoption("--disturbed", action="store_true", help="restart nodes meanwhile")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "behaviours(*ids): rows of compat_tests/behaviours.py")
    config.addinivalue_line("markers", "client(folder): whose test it is, if not its folder's")
    for area, title in AREAS.items():
        config.addinivalue_line("markers", f"{area}: {title}")
    given = dict(each.split("=", 1) for each in config.getoption("--bootstrap"))
    config.stash[_ADDRESSES] = getattr(config, "workerinput", {}).get("addresses", given)
    config.stash[_SERVERS] = {}
    # For tests that are programs of another language.
    os.environ["COMPAT_NODES"] = str(config.getoption("--nodes"))
    os.environ["COMPAT_DISTURBED"] = "1" if config.getoption("--disturbed") else ""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(results.Recorder(), "compat-results")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """With xdist: the process that hands tests out starts the servers for its workers."""
    for target in _chosen(node.config):
        address_of(node.config, target)
    node.workerinput["addresses"] = node.config.stash[_ADDRESSES]


def pytest_unconfigure(config: pytest.Config) -> None:
    try:
        for server in config.stash[_SERVERS].values():
            server.stop()
    finally:
        if _SCRATCH in config.stash:
            _keep_logs(Path(config.stash[_SCRATCH].name))
            config.stash[_SCRATCH].cleanup()


def _keep_logs(scratch: Path) -> None:
    """What nodes said in the last run of several: a failure's cause may be there alone."""
    for log in scratch.glob("*/node-*/server.log"):
        kept = results.DIRECTORY.parent / "servers" / log.relative_to(scratch)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, kept)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How much the protocol differ has compared: no test fails when it is nothing."""
    stats = terminalreporter.stats.values()
    reports = [one for some in stats for one in some if getattr(one, "when", "") == "call"]
    properties = [dict(one.user_properties) for one in reports]
    if counts := [one["answers compared"] for one in properties if "answers compared" in one]:
        terminalreporter.write_line(
            f"differ: {sum(counts)} answers of each server compared, in {len(counts)} tests"
        )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "target" in metafunc.fixturenames:
        metafunc.parametrize("target", _chosen(metafunc.config), scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test's area is its behaviours' area; results are told by client and behaviour."""
    for item in items:
        ids = [id for mark in item.iter_markers("behaviours") for id in mark.args]
        for area in {BEHAVIOURS[id].area for id in ids}:
            item.add_marker(area)
        target = getattr(item, "callspec", None) and item.callspec.params.get("target")  # type: ignore[attr-defined]  # only parametrized items have it
        if ids and target:
            kind = results.kind(
                target, item.config.getoption("--nodes"), item.config.getoption("--disturbed")
            )
            facts = {"client": _client(item), "target": kind, "behaviours": ids}
            item.user_properties.append(("compat", json.dumps(facts)))
            if target == targets.KAFKAPY and (reason := served.why_not_done(ids)) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))
            if "acks" in ids and item.config.getoption("--disturbed"):
                item.add_marker(pytest.mark.skip(reason=_MAY_BE_LOST))
        if item.config.getoption("--disturbed"):
            item.add_marker(pytest.mark.filterwarnings(_LEFT_SOCKETS))


def _client(item: pytest.Item) -> str:
    """The folder of the test's client, as `clients.CLIENTS` names it."""
    if (named := item.get_closest_marker("client")) is not None:
        return str(named.args[0])
    test = item.path
    top, *below = test.relative_to(Path(__file__).resolve().parent.parent).parts
    return below[0] if top == "compat_tests" else top


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> str:
    """The kind of server: for fixtures only, a test does not look at it."""
    kind: str = request.param
    return kind


@pytest.fixture(scope="session")
def broker(request: pytest.FixtureRequest, target: str) -> str:
    """host:port of the server that this run's tests share."""
    try:
        return address_of(request.config, target)
    except installation.Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def nodes(request: pytest.FixtureRequest) -> int:
    """How many the shared server has; of what a test makes each has a replica."""
    count: int = request.config.getoption("--nodes")
    return count


@pytest.fixture(scope="session")
def is_disturbed(request: pytest.FixtureRequest) -> bool:
    """Whether nodes but the first are restarted meanwhile."""
    chosen: bool = request.config.getoption("--disturbed")
    return chosen


@pytest.fixture
def own_server(target: str, tmp_path: Path) -> Iterator[Callable[..., targets.Server]]:
    """Start servers of a test's own: `own_server({"auto.create.topics.enable": "false"})`."""
    started: list[targets.Server] = []

    def start(properties: dict[str, str] | None = None) -> targets.Server:
        server = targets.server(target, tmp_path / f"server-{len(started)}", properties)
        started.append(server)
        try:
            server.start()
        except installation.Unavailable as reason:
            pytest.skip(str(reason))
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that nobody else uses; the topic itself does not exist yet."""
    name = request.node.originalname.removeprefix("test_")[:60]
    return f"{name}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def group(topic: str) -> str:
    """A group id that nobody else uses."""
    return f"group-{topic}"


def _chosen(config: pytest.Config) -> list[str]:
    chosen: str = config.getoption("--target")
    return list(targets.TARGETS) if chosen == "both" else [chosen]


def address_of(config: pytest.Config, target: str) -> str:
    """host:port of a target, started now if nobody did; `Unavailable` where it cannot be."""
    addresses = config.stash[_ADDRESSES]
    if target not in addresses:
        if target == targets.APACHE:
            installation.require()
        if _SCRATCH not in config.stash:
            config.stash[_SCRATCH] = tempfile.TemporaryDirectory(prefix="kafkapy-compat-")
        server = _shared(config, target, Path(config.stash[_SCRATCH].name) / target)
        config.stash[_SERVERS][target] = server
        server.start()
        addresses[target] = server.bootstrap
    return addresses[target]


def _shared(config: pytest.Config, target: str, directory: Path) -> targets.Server:
    nodes: int = config.getoption("--nodes")
    if nodes == 1:
        return targets.server(target, directory)
    properties, is_disturbed = targets.TEST_PROPERTIES, config.getoption("--disturbed")
    return SharedCluster(target, directory, nodes, properties, is_disturbed=is_disturbed)
