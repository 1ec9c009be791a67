r"""As many processes as a group's lag asks for: what KEDA does in Kubernetes, without Kubernetes.

    python autoscaler.py http://127.0.0.1:8080 billing \
        python consumer.py 127.0.0.1:9092 orders billing 0.01

One for each `target` records that are not read, at least `least` and at most `most`, and never more
than there are partitions with something to read. Up at once; down when it has been enough for
`cooldown` seconds, so that a group is not rebalanced for each pause.
"""

import json
import math
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence


class Autoscaler:
    def __init__(
        self,
        url: str,
        group: str,
        command: Sequence[str],
        *,
        target: int = 100,
        least: int = 1,
        most: int = 12,
        cooldown: float = 10.0,
    ) -> None:
        name = urllib.parse.quote(group, safe="")
        # Its consumers begin with the earliest: what nobody has read yet counts as lag.
        self._url = f"{url}/api/v1/scaling/groups/{name}?reset=earliest"
        self._command = list(command)
        self._target, self._least, self._most = target, least, most
        self._cooldown = cooldown
        self._running: list[subprocess.Popen[bytes]] = []
        self._enough_since: float | None = None

    def step(self) -> int:
        """Look, and start or end some; how many run now."""
        self._running = [one for one in self._running if one.poll() is None]
        wanted = self._wanted()
        while len(self._running) < wanted:
            self._running.append(subprocess.Popen(self._command))
        if wanted == len(self._running):
            self._enough_since = None
        elif self._enough_since is None:
            self._enough_since = time.monotonic()
        since = self._enough_since
        if since is not None and time.monotonic() - since >= self._cooldown:
            self._end(self._running[wanted:])
        return len(self._running)

    def close(self) -> None:
        self._end(self._running)

    def _wanted(self) -> int:
        try:
            with urllib.request.urlopen(self._url, timeout=10) as answer:
                told = json.load(answer)
        except urllib.error.HTTPError as failed:
            if failed.code != 404:
                raise
            return self._least  # nobody has committed yet: somebody has to begin
        useful = min(math.ceil(told["lag"] / self._target), told["busy_partitions"], self._most)
        return max(useful, self._least)

    def _end(self, some: Sequence["subprocess.Popen[bytes]"]) -> None:
        for one in some:
            one.terminate()
        for one in some:
            one.wait(30)
        self._running = [one for one in self._running if one not in some]


if __name__ == "__main__":
    scaler = Autoscaler(sys.argv[1], sys.argv[2], sys.argv[3:])
    try:
        while True:
            print(f"{scaler.step()} consumers", flush=True)
            time.sleep(1)
    except KeyboardInterrupt:
        scaler.close()
