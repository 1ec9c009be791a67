"""What HTTP costs the broker beside it: acknowledgements at 1,000/s, as ack-1k measures them.

    http-off     without HTTP
    http-idle    HTTP listens, and nobody asks
    http-busy    the console is open and follows the same topic, /metrics is scraped every second,
                 REST writes fifty and reads ten times a second (bench/clients/http_load.py)

Who asks runs on the same machine: what its own processor time costs is in http-busy, too.
"""

import json
from dataclasses import dataclass

from bench.load import kload
from bench.row import KAFKAPY, PERCENTILES, RESIDENT, Figures, Row
from bench.run import Run
from kafkapy.server.sockets.free_ports import free_ports

_WARM_S = 5.0
_OURS = (KAFKAPY,)


@dataclass(frozen=True, slots=True)
class BesideHttp:
    has_http: bool = True
    is_busy: bool = False
    rate: int = 1000
    full_seconds: float = 15

    def __call__(self, run: Run) -> Figures:
        [port] = free_ports(1)
        address = f"127.0.0.1:{port}"
        properties = {"http.listeners": f"http://{address}"} if self.has_http else {}
        with run.start(properties):
            topic, written = run.topic(), run.topic()
            if not self.is_busy:
                return self._measured(run, topic)
            counts = run.directory / "http-counts"
            given = {"address": address, "followed": topic, "written": written}
            with run.beside("http_load", counts=str(counts), **given):
                found = self._measured(run, topic)
            told = json.loads(counts.read_text(encoding="utf-8"))
        for what in ("pages", "scrapes", "writes", "reads", "followed"):
            if told.get(what, 0) < 2 or told.get("failed"):
                raise RuntimeError(f"HTTP is not what this measures: {told}")
        return {**found, **{f"http_{what}": float(count) for what, count in told.items()}}

    def _measured(self, run: Run, topic: str) -> Figures:
        frames = kload.Frames.of_produce([(topic, 0)], records=1, record_bytes=1024, acks=-1)
        with run.costs() as costs:
            found = kload.open_loop(
                run.bootstrap,
                frames,
                connections=1,
                rate=self.rate,
                seconds=run.seconds(self.full_seconds),
                warm_seconds=max(_WARM_S, run.seconds(2 * _WARM_S)),
            )
        spent = costs.figures(found["total"], found["total_seconds"])
        return {**spent, **kload.latency(found)}


ROWS = (
    Row(
        "http-off",
        "acknowledgement at 1,000/s, without HTTP",
        BesideHttp(has_http=False),
        (*PERCENTILES, RESIDENT),
        _OURS,
        starts_own=True,
    ),
    Row(
        "http-idle",
        "the same with HTTP that nobody asks",
        BesideHttp(),
        (*PERCENTILES, RESIDENT),
        _OURS,
        starts_own=True,
    ),
    Row(
        "http-busy",
        "the same with the console open, metrics scraped and REST under load",
        BesideHttp(is_busy=True),
        (*PERCENTILES, RESIDENT),
        _OURS,
        starts_own=True,
        note="Beside http-off: what a look costs those who write.",
    ),
)
