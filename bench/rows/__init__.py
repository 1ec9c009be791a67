"""THE table of what is measured: a module a family, its rows in its `ROWS`."""

from bench.row import Row
from bench.rows import (
    cluster,
    durability,
    groups,
    http,
    java,
    latency,
    openmessaging,
    queues,
    requests,
    scale,
    security,
    startup,
    tenants,
    testkit,
    throughput,
    transactions,
    views,
)

FAMILIES: dict[str, tuple[Row, ...]] = {
    "latency": latency.ROWS,
    "throughput": throughput.ROWS,
    "java": java.ROWS,
    "requests": requests.ROWS,
    "openmessaging": openmessaging.ROWS,
    "groups": groups.ROWS,
    "http": http.ROWS,
    "transactions": transactions.ROWS,
    "queues": queues.ROWS,
    "startup": startup.ROWS,
    "testkit": testkit.ROWS,
    "scale": scale.ROWS,
    "durability": durability.ROWS,
    "cluster": cluster.ROWS,
    "security": security.ROWS,
    "tenants": tenants.ROWS,
    "views": views.ROWS,
}
