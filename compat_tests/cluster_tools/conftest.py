"""Three nodes of each server, for all conversations of a process."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.cluster_tools.transcript import Told, held_with_both
from compat_tests.clusters import APACHE, KAFKAPY, Cluster, of
from compat_tests.installation import Unavailable, require

Conversation = Callable[[Told], None]
Hold = Callable[[Conversation], list[str]]

PROPERTIES = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    # Conversations say themselves who should lead.
    "auto.leader.rebalance.enable": "false",
    # A snapshot of the metadata soon, for the shell.
    "metadata.log.max.record.bytes.between.snapshots": "2000",
}


@pytest.fixture(scope="session")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Cluster]]:
    try:
        require()
    except Unavailable as reason:
        pytest.skip(str(reason))
    made = [
        Cluster(tmp_path_factory.mktemp(server), of(server, 3), PROPERTIES)
        for server in (APACHE, KAFKAPY)
    ]
    try:
        for one in made:
            one.start()
        yield made
    finally:
        for one in made:
            one.close()


@pytest.fixture
def hold(clusters: list[Cluster], tmp_path: Path) -> Hold:
    return lambda conversation: held_with_both(clusters, tmp_path, conversation)
