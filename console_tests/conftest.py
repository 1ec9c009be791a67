"""A Chromium of the system's, a cluster of three nodes, and axe-core where npm is."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, sync_playwright

from console_tests.filling import fill
from console_tests.seen import KEPT, Seen, looking
from kafkapy.testing import Cluster
from tests.http.pages import HTTP

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
# With ACLs, and the browser as somebody who may do everything.
_SETTINGS: Final = {
    **HTTP,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
_AXE: Final = "axe-core@4.14.1"
_SCRIPT: Final = KEPT / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with sync_playwright() as playwright:
        # Its sandbox wants what root in a container has not; the pages are our own.
        options = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def cluster(chromium: Browser) -> Iterator[Cluster]:
    with Cluster(3, settings=_SETTINGS) as started:
        kept = fill(started)
        yield started
        kept.close()


@pytest.fixture(scope="session")
def address(cluster: Cluster) -> str:
    """Of the first node's pages."""
    return cluster.node(1).http


@pytest.fixture
def seen(chromium: Browser, address: str) -> Iterator[Seen]:
    with looking(chromium, address) as made:
        yield made


@pytest.fixture(scope="session")
def axe() -> str | None:
    """Its script; None where it cannot be had."""
    npm = shutil.which("npm")
    if not _SCRIPT.exists() and npm is not None:
        KEPT.mkdir(exist_ok=True)
        command = [npm, "install", "--silent", "--no-save", "--prefix", str(KEPT), _AXE]
        subprocess.run(command, check=False, timeout=120)
    return _SCRIPT.read_text() if _SCRIPT.exists() else None
