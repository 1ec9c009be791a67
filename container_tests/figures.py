"""How large an image is, how soon a node of it serves, and what it holds then.

    python -m container_tests.figures [--times 5] [--beside apache/kafka:4.3.1]

Of the image of these sources and of those `--beside` it that take Kafka's settings as variables.
A node serves when it answers a client on the host; the time is counted from when the engine says
that its container started. Median and worst are told.
"""

import argparse
import statistics
import sys
import time
from datetime import datetime
from typing import Final, NamedTuple

from compat_tests.waiting import answers_kafka, wait_for
from container_tests.engine import build_image, docker, free_ports, inspect, why_not

_MB: Final = 1e6
# A node by itself; `localhost` is how clients on the host reach it.
_SETTINGS: Final = {
    "CLUSTER_ID": "c29tZSBjbHVzdGVyIGlkLg",
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
    "KAFKA_LOG_DIRS": "/var/lib/kafka/data",
}


class Started(NamedTuple):
    seconds: float
    resident_mb: float


def started(image: str) -> Started:
    """Of a container that is gone again afterwards."""
    (port,) = free_ports(1)
    told = {**_SETTINGS, "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://localhost:{port}"}
    variables = [part for name, text in told.items() for part in ("--env", f"{name}={text}")]
    publish = ("--publish", f"127.0.0.1:{port}:9092")
    container = docker("run", "--detach", "--rm", *publish, *variables, image)
    try:
        wait_for(f"{image} answers", lambda: answers_kafka("127.0.0.1", port), every_s=0.01)
        answered = time.time()
        state = inspect(container)["State"]
        began = datetime.fromisoformat(state["StartedAt"][:26] + "+00:00").timestamp()
        return Started(answered - began, _resident_mb(state["Pid"]))
    finally:
        docker("rm", "--force", "--volumes", container)


def _resident_mb(pid: int) -> float:
    with open(f"/proc/{pid}/status") as file:
        line = next(one for one in file if one.startswith("VmRSS"))
    return int(line.split()[1]) * 1024 / _MB


def _size_mb(image: str) -> float:
    return int(docker("image", "inspect", "--format", "{{.Size}}", image)) / _MB


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--beside", action="append", default=[], metavar="IMAGE")
    parser.add_argument("--base", default="python:3.11-slim", help="whose size is told, too")
    options = parser.parse_args()
    if (reason := why_not()) is not None:
        print(f"LEFT OUT: {reason}")
        return 1
    print(f"{options.base}: {_size_mb(options.base):.0f} MB")
    for image in (build_image(), *options.beside):
        found = [started(image) for _ in range(options.times)]
        seconds = [one.seconds for one in found]
        print(
            f"{image}: {_size_mb(image):.0f} MB; serves after {statistics.median(seconds):.2f} s "
            f"(at most {max(seconds):.2f}), holds {max(one.resident_mb for one in found):.0f} MB",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
