"""Three nodes of each server, for all cases of a process."""

from collections.abc import Iterator

import pytest

from compat_tests.clusters import APACHE, KAFKAPY, Cluster, of
from compat_tests.installation import Unavailable, require
from kafkapy.broker.config.replicated import of_all_topics

# Cases say themselves who should lead.
PROPERTIES = {"auto.leader.rebalance.enable": "false"}


@pytest.fixture(scope="session")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Cluster]]:
    try:
        require()
    except Unavailable as reason:
        pytest.skip(str(reason))
    made = {
        server: Cluster(
            tmp_path_factory.mktemp(server), of(server, 3), {**of_all_topics(3), **PROPERTIES}
        )
        for server in (APACHE, KAFKAPY)
    }
    try:
        for one in made.values():
            one.start()
        yield made
    finally:
        for one in made.values():
            one.close()
