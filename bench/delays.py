"""`python -m bench.delays`: how late do records come that a relay holds back? A picture for docs/.

One kafkapy, and 20,000 records of which each is due at its own moment of the next half minute;
then 200,000 in as long. Plotted is how late each came to its consumer, who polls every 10 ms: over
time, and as the share of all that had come by then. docs/RELAYS.md shows what came of
`--checkout --records 1000000 --seconds 600 --lead 60`.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import plots
from bench.processes import usage_of
from bench.report import KEPT
from bench.row import KAFKAPY
from bench.rows.queues import delays
from bench.run import Run
from bench.servers import Server, targets
from compat_tests.targets import Kafkapy

_COUNTS = (20_000, 200_000)
_COLOURS = ("#1a6fb0", "#d1495b")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.delays", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30, help="in which all are due")
    parser.add_argument("--lead", type=float, default=15, help="before the first is due")
    parser.add_argument("--records", type=int, action="append", help="so many (once or twice)")
    parser.add_argument("--picture", type=Path, default=KEPT / "delays.png")
    parser.add_argument(
        "--checkout", action="store_true", help="kafkapy as it stands here, not compiled"
    )
    options = parser.parse_args()
    if (reason := plots.why_not()) is not None:
        print(f"bench: {reason}", file=sys.stderr)
        return 1
    target = targets(None)[KAFKAPY]
    if options.checkout:
        target = replace(target, make=_of_checkout)
    found: dict[int, dict[str, Any]] = {}
    for count in options.records or _COUNTS:
        with tempfile.TemporaryDirectory() as directory:
            run = Run(target, Path(directory), length=1)
            with run.start():
                found[count] = delays(run, count, options.seconds, options.lead, 100)
                peak_mb = usage_of([run.server.pid]).peak_mb
        late = ", ".join(f"{name} {found[count][name]:.0f} ms" for name in ("p50", "p99", "most"))
        print(f"{count:,} in {options.seconds:.0f} s: {late}; {peak_mb:.0f} MB at most")
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    _draw(options.picture, found)
    return 0


def _of_checkout(directory: Path, properties: Mapping[str, str], count: int) -> Server:
    return Kafkapy(directory, properties)


def _draw(path: Path, found: dict[int, dict[str, Any]]) -> None:
    import matplotlib.pyplot as plt

    figure, (over_time, shares) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for (count, each), colour in zip(found.items(), _COLOURS, strict=False):
        due, late = zip(*each["samples"], strict=True)
        label = f"{count:,} in {each['span_s']:.0f} s"
        over_time.plot(due, late, ".", ms=2, color=colour, label=label)
        ordered = sorted(late)
        part = [(place + 1) / len(ordered) for place in range(len(ordered))]
        shares.plot(ordered, part, color=colour, label=label)
    over_time.set(xlabel="due, seconds after the first", ylabel="ms late", ylim=(0, None))
    shares.set(xlabel="ms late", ylabel="share that had come", xlim=(0, None), ylim=(0, 1.01))
    for axes in (over_time, shares):
        axes.grid(color="#dddddd", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    shares.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    sys.exit(main())
