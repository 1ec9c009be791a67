"""Three nodes of each server, for all conversations of a process."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.cluster_tools.transcript import Told, held_with_both
from compat_tests.clusters import APACHE, KAFKAPY, Cluster, of
from compat_tests.installation import Unavailable, require
from kafkapy.broker.config.table.shared_values import RACK_AWARE_SELECTOR

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
    # Each node has a rack of its own; consumers may read from the replica in theirs.
    "replica.selector.class": RACK_AWARE_SELECTOR,
    # A snapshot of the metadata soon, for the shell.
    "metadata.log.max.record.bytes.between.snapshots": "2000",
}


class InRacks(Cluster):
    def settings(self, node_id: int) -> dict[str, str]:
        return {**super().settings(node_id), "broker.rack": f"rack-{node_id}"}


@pytest.fixture(scope="session")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Cluster]]:
    try:
        require()
    except Unavailable as reason:
        pytest.skip(str(reason))
    made: list[Cluster] = [
        InRacks(tmp_path_factory.mktemp(server), of(server, 3), PROPERTIES)
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
