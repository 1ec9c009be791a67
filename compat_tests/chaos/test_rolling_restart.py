"""All nodes restarted, one after another, under load: nobody has to do anything about it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.chaos.cluster import Cluster
from compat_tests.chaos.run import Run
from compat_tests.installation import Unavailable

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(600)]

# A group's members commit by hand here, and try again with their next poll, as after a rebalance.
_GROUPS = "commit of a group: "


def test_a_rolling_restart_is_noticed_by_no_client(
    target: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Producers, transactions, a copy exactly once and groups of both protocols go on: no record
    and no transaction fails, nothing is lost or doubled."""
    cluster = Cluster(tmp_path, target)
    run = Run(cluster, seed=1, say=lambda line: None)
    try:
        run.start()
        run.trouble("rolling restart")
        run.finish()
    except Unavailable as reason:
        pytest.skip(str(reason))
    finally:
        cluster.close()
    (told,) = run.told
    record_property("fail-over", f"{target}: {told}")
    errors = {what: count for what, count in told.errors.items() if not what.startswith(_GROUPS)}
    assert not errors, errors
