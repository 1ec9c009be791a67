"""Certificates of clients that are wrong in one way each: none of them lets anybody in."""

from collections.abc import Callable

import pytest

from kafkapy.testing.security.certificates import Certificate
from tests.server.tls.chains import WRONG_OF_CLIENTS, issued, root
from tests.server.tls.test_tls_connection import Client, connects


@pytest.mark.parametrize("client_auth", ["requested", "required"])
@pytest.mark.parametrize("make", WRONG_OF_CLIENTS, ids=lambda one: one.__name__)
def test_a_chain_that_is_wrong_lets_nobody_in(
    make: Callable[[], Certificate], client_auth: str
) -> None:
    bench, client = connects(client_auth, make())
    assert bench.is_closed
    assert bench.principal is None
    assert "VERIFY_FAILED" in str(bench.reason)
    assert bench.requests == []
    told: Client = client
    told.until(lambda: told.error is not None)
    bench.close()


def test_the_same_made_right_does() -> None:
    bench, _ = connects("required", issued(root()))
    assert bench.principal == "CN=alice"
    bench.close()
