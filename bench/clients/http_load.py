"""Who uses a node's HTTP while something else is measured, until it is killed: a person with the
console open, who opens a page every second and follows a topic live; a Prometheus that scrapes
every second; programs that write fifty and read ten times a second over REST.

How much of it was answered stands in the file `counts`, as JSON, as of the last second.
"""

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from typing import Any

_PAGES = (
    "/",
    "/console/topics",
    "/console/topics/{topic}",
    "/console/topics/{topic}/messages",
    "/console/groups",
    "/console/alerts",
)
_JSON = {"content-type": "application/json"}


class Load:
    def __init__(self, address: str, followed: str, written: str) -> None:
        self.counts: Counter[str] = Counter()
        self._address = address
        self._followed = followed
        self._written = written

    def start(self) -> None:
        rest = f"/api/v1/topics/{self._written}"
        read = f"{rest}/partitions/0/messages?offset=earliest&limit=100"
        body = json.dumps({"key": "k", "value": {"text": "x" * 100}})
        self._every(1.0, "pages", lambda done: ("GET", self._page(done), None))
        self._every(1.0, "scrapes", lambda _: ("GET", "/metrics", None))
        self._every(0.02, "writes", lambda _: ("POST", f"{rest}/messages", body))
        self._every(0.1, "reads", lambda _: ("GET", read, None))
        _run(self._follow)

    def _page(self, done: int) -> str:
        return _PAGES[done % len(_PAGES)].format(topic=self._followed)

    def _every(
        self, seconds: float, what: str, asked: Callable[[int], tuple[str, str, str | None]]
    ) -> None:
        """At an even rate; who is late does not catch up."""

        def work() -> None:
            connection = HTTPConnection(self._address, timeout=30)
            due = time.monotonic()
            while True:
                method, path, body = asked(self.counts[what])
                try:
                    connection.request(method, path, body, _JSON if body else {})
                    answer = connection.getresponse()
                    answer.read()
                    self.counts[what if answer.status < 300 else "failed"] += 1
                except (OSError, HTTPException):
                    self.counts["failed"] += 1
                    connection.close()
                now = time.monotonic()
                due = max(due + seconds, now)
                time.sleep(due - now)

        _run(work)

    def _follow(self) -> None:
        connection = HTTPConnection(self._address, timeout=60)
        connection.request("GET", f"/console/topics/{self._followed}/tail")
        for line in connection.getresponse():
            if line.startswith((b"event: record", b"event: skipped")):
                self.counts["followed"] += 1


def _run(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


def main(given: dict[str, Any]) -> None:
    load = Load(given["address"], given["followed"], given["written"])
    load.start()
    path = given["counts"]
    while True:
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(load.counts.copy(), file)
        os.replace(f"{path}.new", path)
        time.sleep(1.0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
