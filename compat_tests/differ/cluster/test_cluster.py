"""Every case at every version, on three nodes of both servers; a difference in an answer fails.

It needs Apache Kafka, so Java. `-k "fetch and v12"` picks.
"""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from compat_tests.clusters import APACHE, KAFKAPY, Cluster
from compat_tests.differ.cluster import (
    controller_cases,
    coordinator_cases,
    metadata_cases,
    moving_cases,
    record_cases,
)
from compat_tests.differ.cluster.cases import CASES, Case
from compat_tests.differ.cluster.nodes import Nodes
from compat_tests.differ.differences import compared

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.xdist_group("cluster-differ")]
# Importing them fills CASES.
MODULES = (
    controller_cases,
    coordinator_cases,
    metadata_cases,
    moving_cases,
    record_cases,
)

ROWS = [
    pytest.param(case, version, id=f"{case.name} v{version}")
    for case in CASES
    for version in case.versions
]


@pytest.mark.parametrize(("case", "version"), ROWS)
def test_both_clusters_answer_alike(
    clusters: dict[str, Cluster],
    case: Case,
    version: int,
    record_property: Callable[[str, object], None],
) -> None:
    name = f"c{uuid.uuid4().hex[:10]}"

    def play(server: str) -> list[tuple[str, Any]]:
        nodes = Nodes(clusters[server], case.api_key, version, name)
        try:
            case.play(nodes)
            return nodes.heard
        finally:
            nodes.close()

    with ThreadPoolExecutor(2) as pool:
        apache, kafkapy = pool.map(play, (APACHE, KAFKAPY))
    record_property("answers compared", len(apache))
    found = compared(case.name, apache, kafkapy)
    assert not found, "\n".join(["", *found])
