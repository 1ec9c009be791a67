"""Acknowledgement latency at a fixed rate, measured from the *intended* time of each send
(so that a stall counts for every record it held up): percentiles in milliseconds.
"""

import json
import sys
import time
from typing import Any

from bench.drivers.one_record import connect, request


def run(given: dict[str, Any]) -> dict[str, float]:
    wire = request(given["topic"], given["record_bytes"], given["acks"])
    sock = connect(given["bootstrap"])
    gap = 1 / given["rate"]
    _at_rate(sock, wire, gap, int(given["rate"] * min(2.0, given["seconds"])))
    took = sorted(_at_rate(sock, wire, gap, int(given["rate"] * given["seconds"])))
    return {
        "records": len(took),
        "seconds": given["seconds"],
        **{
            name: took[min(len(took) - 1, int(len(took) * share))] * 1000
            for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999))
        },
    }


def _at_rate(sock: Any, wire: bytes, gap: float, count: int) -> list[float]:
    took = []
    intended = time.perf_counter()
    for _ in range(count):
        intended += gap
        while time.perf_counter() < intended:
            pause = intended - time.perf_counter()
            if pause > 0.0003:
                time.sleep(pause - 0.0002)
        sock.sendall(wire)
        sock.recv(65536)
        took.append(time.perf_counter() - intended)
    return took


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
