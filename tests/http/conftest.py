"""A broker with HTTP beside it, asked with sockets and without."""

from collections.abc import Iterator
from importlib import import_module

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

import kafkapy.http.serving.server
from kafkapy.http.app import make_app
from kafkapy.http.rooms import ROOMS
from kafkapy.testing import Broker
from tests.http.api.conforming import conforming
from tests.http.pages import HTTP, client_of, site_of

# All that HTTP's thread would import at its start. pytest rewrites kafkapy's modules as they are
# imported, and CPython 3.11 cannot make syntax trees on two threads at a time: SystemError, "AST
# constructor recursion depth mismatch", in the one or the other.
for _room in (kafkapy.http.serving.server.__name__, *ROOMS):
    import_module(_room)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One for all tests of a module: each uses topics of its own."""
    with Broker(HTTP) as started:
        yield started


@pytest.fixture
def over_http(broker: Broker) -> Iterator[httpx.Client]:
    """Over real sockets. What it is answered has to be what pages declare."""
    with client_of(broker, event_hooks={"response": [conforming(broker)]}) as client:
        yield client


@pytest.fixture
def pages(broker: Broker) -> Iterator[TestClient]:
    """The same pages without sockets, on a Trio loop of the test's."""
    site = site_of(broker)
    with TestClient(make_app(site), "http://127.0.0.1", backend="trio") as client:
        yield client
