"""These tests need Java whichever target they run against."""

import pytest

from compat_tests import installation


@pytest.fixture(autouse=True, scope="session")
def java() -> None:
    if (reason := installation.why_not()) is not None:
        pytest.skip(reason)
