"""One secured server of each kind for all tests of this folder."""

from collections.abc import Iterator

import pytest

from compat_tests import installation
from compat_tests.security.servers import Secured, secured_server
from compat_tests.targets import APACHE


@pytest.fixture(scope="session")
def secured(target: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    if target == APACHE:
        try:
            installation.require()
        except installation.Unavailable as reason:
            pytest.skip(str(reason))
    with secured_server(target, tmp_path_factory.mktemp(f"secured-{target}")) as server:
        yield server
