"""A page of a browser that notes what it complains of, and pictures of it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, expect

ROOT: Final = Path(__file__).parent.parent
KEPT: Final = ROOT / ".console"
# Those of docs/CONSOLE.md.
_PICTURES = ("overview", "messages", "reset", "diff", "phone", "broker-setting", "workers")

# The machine may be busy with other things.
expect.set_options(timeout=30_000)


class Seen:
    """A page that notes what a browser complains of, and whom it asks."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._asked)

    def go(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    def _said(self, message: Any) -> None:
        if message.type == "error" and "status of 404" not in message.text:
            self.complaints.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.address, "blob:", "data:")):
            self.complaints.append(f"asks {request.url}")


@contextmanager
def looking(chromium: Browser, address: str, **options: Any) -> Iterator[Seen]:
    page = chromium.new_page(viewport={"width": 1200, "height": 800}, **options)
    page.set_default_timeout(30_000)
    made = Seen(page, address)
    yield made
    page.close()
    assert made.complaints == []


def picture(page: Page, name: str) -> None:
    KEPT.mkdir(exist_ok=True)
    data = page.screenshot(path=KEPT / f"{name}.png")
    wanted: Path = ROOT / "docs" / "console" / f"{name}.png"
    if os.environ.get("PICTURES") == "docs" and name in _PICTURES:
        wanted.write_bytes(data)
