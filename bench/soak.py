"""`python -m bench.soak --minutes 60`: steady load for a long time; does memory stay flat?

One kafkapy, its topics kept small by retention, under records in and out, consumer groups
that come and go, transactions and topics that are made and deleted. Every ten seconds memory,
processor time, open files and disk are noted; the answers are in .bench/soak.md and .png.

Flat means: the median of the last third is no more than 5 % above that of the second third.
(In the first third caches fill.) It ends with 1 if not.
"""

import argparse
import json
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import plots
from bench.installed import described
from bench.processes import open_files, usage
from bench.report import KEPT, machine
from bench.row import KAFKAPY
from bench.servers import Server, targets
from compat_tests.processes import Process
from compat_tests.waiting import directory_size

_EVERY_S = 10.0
_MAY_GROW = 1.05
_PROPERTIES = {
    # librdkafka's producer keeps asking for topics that it wrote to, deleted or not.
    "auto.create.topics.enable": "false",
    # Segments roll, expire and are deleted all the time.
    "log.segment.bytes": str(16 << 20),
    "log.retention.bytes": str(64 << 20),
    "log.retention.check.interval.ms": "5000",
    "log.segment.delete.delay.ms": "1000",
    "log.cleaner.backoff.ms": "5000",
    "offsets.topic.segment.bytes": str(4 << 20),
}


@dataclass(frozen=True, slots=True)
class Sample:
    minute: float
    resident_mb: float
    cpu_seconds: float
    open_files: int
    disk_mb: float


def main() -> int:
    # `timeout` and `kill` end it as Ctrl-C does: servers are stopped, their data removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog="bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=int, default=5000, help="records of 1 KiB a second")
    parser.add_argument("--revision", help="kafkapy as of this commit")
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.data, prefix="kafkapy-soak-") as scratch:
        revision = described(options.revision)  # as it is now, not in an hour
        server = targets(options.revision)[KAFKAPY].make(Path(scratch), _PROPERTIES, 1)
        server.start()
        try:
            given = {"bootstrap": server.bootstrap, "rate": options.rate}
            command = [sys.executable, "-m", "bench.clients.soak", json.dumps(given)]
            load = Process(command, log=Path(scratch) / "load.log")
            samples = _watch(server, load, options.minutes * 60)
            load.stop()
            done = load.log_tail(1)
        finally:
            server.stop()
    return _report(samples, done, options.rate, revision)


def _watch(server: Server, load: Process, seconds: float) -> list[Sample]:
    samples: list[Sample] = []
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        time.sleep(_EVERY_S)
        if not load.is_running:
            raise RuntimeError(f"the load ended:\n{load.log_tail()}")
        spent = usage(server.pid)
        sample = Sample(
            passed / 60,
            spent.resident_mb,
            spent.cpu_seconds,
            open_files(server.pid),
            directory_size(server.data) / 1e6,
        )
        samples.append(sample)
        print(
            f"{sample.minute:6.1f} min  {sample.resident_mb:6.1f} MB  "
            f"{sample.cpu_seconds:7.1f} CPU s  {sample.open_files} files  "
            f"{sample.disk_mb:,.0f} MB on disk",
            flush=True,
        )
    return samples


def _report(samples: list[Sample], done: str, rate: int, revision: str) -> int:
    third = len(samples) // 3
    middle = statistics.median(each.resident_mb for each in samples[third : 2 * third])
    last = statistics.median(each.resident_mb for each in samples[2 * third :])
    is_flat = last <= middle * _MAY_GROW
    minutes = samples[-1].minute
    cores = (samples[-1].cpu_seconds - samples[0].cpu_seconds) / (
        (minutes - samples[0].minute) * 60
    )
    text = (
        f"{minutes:.0f} minutes at {rate:,} records of 1 KiB a second, in and out, on {machine()}; "
        f"kafkapy {revision}. Memory: median {middle:.1f} MB in the second third, {last:.1f} MB in "
        f"the last: {'flat' if is_flat else 'NOT FLAT'}. Open files at most "
        f"{max(each.open_files for each in samples)}, disk at most "
        f"{max(each.disk_mb for each in samples):,.0f} MB, {cores:.2f} cores. Load: {done}\n"
    )
    KEPT.mkdir(exist_ok=True)
    (KEPT / "soak.md").write_text(text)
    kept = json.dumps([asdict(each) for each in samples], indent=0)
    (KEPT / "soak.json").write_text(kept + "\n")
    print(text)
    if plots.why_not() is None:
        plots.plot_soak(
            KEPT / "soak.png",
            [each.minute for each in samples],
            [each.resident_mb for each in samples],
        )
    return 0 if is_flat else 1


if __name__ == "__main__":
    sys.exit(main())
