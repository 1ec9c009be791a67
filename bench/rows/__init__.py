"""THE table of what is measured: a module a family, its rows in its `ROWS`."""

from bench.row import Row
from bench.rows import groups, latency, requests, throughput

FAMILIES: dict[str, tuple[Row, ...]] = {
    "throughput": throughput.ROWS,
    "requests": requests.ROWS,
    "latency": latency.ROWS,
    "groups": groups.ROWS,
}
