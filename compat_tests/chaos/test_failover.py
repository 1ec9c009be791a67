"""Stock clients under acks=all load while a node of theirs goes: `make failover TARGET=both`.

Nothing that was acknowledged is lost, nothing is there twice, and the order holds; how long
nothing was acknowledged is told at the end.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.chaos.cluster import Cluster
from compat_tests.chaos.failover import TROUBLES, play
from compat_tests.chaos.producers.clients import CLIENTS
from compat_tests.installation import Unavailable

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster(target: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    three = Cluster(tmp_path_factory.mktemp(target), target)
    try:
        three.start()
        yield three
    except Unavailable as reason:
        pytest.skip(str(reason))
    finally:
        three.close()


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_client_goes_on(
    cluster: Cluster,
    target: str,
    client: str,
    trouble: str,
    topic: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    try:
        seen = play(cluster, client, trouble, topic, tmp_path)
    except Unavailable as reason:
        pytest.skip(str(reason))
    record_property("fail-over", f"{target}: {client}: {trouble}: {seen}")
