"""The pytest plugin: fixtures `kafka`, `kafka_async`, `kafka_secured`, `kafka_cluster` and
`kafka_session`, and the mark `kafka`.

    @pytest.mark.kafka(settings={...}, api_versions="2.8", on_disk=True, nodes=5, protocol="SSL")

Loaded in every pytest run where kafkapy is installed, so it imports nothing but pytest:
the broker's modules are imported when a test first asks for one.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kafkapy.testing.async_broker import AsyncBroker
    from kafkapy.testing.broker import Broker
    from kafkapy.testing.cluster.cluster import Cluster
    from kafkapy.testing.gate.faults import Faults
    from kafkapy.testing.security.secured import SecuredBroker

_MARK = "kafka"
_ARGUMENTS = ("settings", "api_versions", "on_disk", "nodes", "protocol")
_FAILED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{_MARK}(settings={{}}, api_versions=None, on_disk=False, nodes=3, protocol='SASL_SSL'): "
        "what the fixtures `kafka`, `kafka_async`, `kafka_secured` and `kafka_cluster` start: "
        "Kafka's settings, the release that a broker passes for, files in tmp_path, how many nodes "
        "a cluster has, what a secured broker's clients speak",
    )


@pytest.fixture(scope="session")
def kafka_settings() -> dict[str, str]:
    """Kafka's broker settings for the fixtures below; override it to change some."""
    return {}


@pytest.fixture
def kafka(request: pytest.FixtureRequest, kafka_settings: dict[str, str]) -> "Iterator[Broker]":
    """A broker of its own for each test: empty, real, gone afterwards."""
    from kafkapy.testing.broker import Broker

    asked = _marked(request.node)
    broker = Broker(
        {**kafka_settings, **asked.get("settings", {})},
        directory=request.getfixturevalue("tmp_path") if asked.get("on_disk") else None,
        api_versions=asked.get("api_versions"),
    )
    broker.start()
    try:
        yield broker
    finally:
        broker.close()
    _check_faults(broker.faults, request.node)


@pytest.fixture
def kafka_async(kafka: "Broker") -> "AsyncBroker":
    """The broker of `kafka`, with methods to await; under asyncio, Trio and anyio."""
    from kafkapy.testing.async_broker import AsyncBroker

    return AsyncBroker.around(kafka)


@pytest.fixture
def kafka_secured(
    request: pytest.FixtureRequest, kafka_settings: dict[str, str]
) -> "Iterator[SecuredBroker]":
    """A broker that asks who is there, and what that one may."""
    from kafkapy.testing.security.secured import SecuredBroker

    asked = _marked(request.node)
    broker = SecuredBroker(
        {**kafka_settings, **asked.get("settings", {})},
        protocol=asked.get("protocol", "SASL_SSL"),
        directory=request.getfixturevalue("tmp_path") if asked.get("on_disk") else None,
        api_versions=asked.get("api_versions"),
    )
    broker.start()
    try:
        yield broker
    finally:
        broker.close()
    _check_faults(broker.faults, request.node)


@pytest.fixture
def kafka_cluster(
    request: pytest.FixtureRequest, kafka_settings: dict[str, str]
) -> "Iterator[Cluster]":
    """Three nodes for each test, to kill, pause and cut off."""
    from kafkapy.testing.cluster.cluster import Cluster

    asked = _marked(request.node)
    if "api_versions" in asked:
        raise ValueError("a cluster passes for no other release: its nodes would not, either")
    cluster = Cluster(
        asked.get("nodes", 3),
        {**kafka_settings, **asked.get("settings", {})},
        directory=request.getfixturevalue("tmp_path") if asked.get("on_disk") else None,
    )
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()
    for faults in (cluster.faults, *(one.faults for one in cluster.nodes.values())):
        _check_faults(faults, request.node)


@pytest.fixture(scope="session")
def _kafka_of_the_session(kafka_settings: dict[str, str]) -> "Iterator[Broker]":
    from kafkapy.testing.broker import Broker

    with Broker(kafka_settings) as broker:
        yield broker


@pytest.fixture
def _kafka_faults_of_one_test(
    request: pytest.FixtureRequest, _kafka_of_the_session: "Broker"
) -> Iterator[None]:
    yield
    try:
        _check_faults(_kafka_of_the_session.faults, request.node)
    finally:
        _kafka_of_the_session.faults.clear()


@pytest.fixture(scope="session")
def kafka_session(_kafka_of_the_session: "Broker") -> "Broker":
    """One broker for the whole run (under xdist: one for each worker). Faults end with the
    test that asked for them."""
    return _kafka_of_the_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "kafka_session" in item.fixturenames:
            item.fixturenames.append("_kafka_faults_of_one_test")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


def _marked(item: pytest.Item) -> dict[str, Any]:
    """The arguments of the nearest mark, those of the marks around it where it has none."""
    asked: dict[str, Any] = {}
    for mark in item.iter_markers(_MARK):
        unknown = [name for name in mark.kwargs if name not in _ARGUMENTS]
        if mark.args or unknown:
            raise ValueError(f"{mark}: it takes {', '.join(_ARGUMENTS)}, by name")
        asked = {**mark.kwargs, **asked}
    return asked


def _check_faults(faults: "Faults", item: pytest.Item) -> None:
    # A test that failed may not have come to the request it meant: its own failure says more.
    if not item.stash.get(_FAILED, False):
        faults.check()
