"""Both servers, asked everything by somebody with each single permission, answer alike; and
Apache Kafka still answers what is recorded of it for the unit tests."""

from pathlib import Path

import pytest

from compat_tests import installation, targets
from compat_tests.differ import permissions
from compat_tests.differ.record_permissions import WALKS, Walk

pytestmark = [pytest.mark.slow, pytest.mark.admin]


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
@pytest.mark.parametrize("kind", targets.TARGETS)
def test_a_server_answers_everybody_as_apache_kafka_does(
    kind: str, walk: Walk, tmp_path: Path
) -> None:
    server = targets.server(kind, tmp_path, walk.properties)
    try:
        server.start()
        answers = walk.answers(server.bootstrap)
    except installation.Unavailable as reason:
        pytest.skip(str(reason))
    finally:
        server.stop()
    found = permissions.differences(walk.recorded(), answers)
    assert not found, "\n".join(["", *found])
