"""`python -m compat_tests.chaos [--minutes N] [--seed N] [--target kafkapy|apache]`."""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from compat_tests import installation
from compat_tests.chaos.cluster import Cluster
from compat_tests.chaos.run import Run, Stuck
from compat_tests.chaos.troubles import ALL
from compat_tests.crashes import STUCK, UNAVAILABLE
from compat_tests.targets import KAFKAPY, TARGETS


def main() -> None:
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, help="new troubles begin for so long")
    parser.add_argument("--seed", type=int, default=1, help="of the load and of the order")
    parser.add_argument("--target", choices=TARGETS, default=KAFKAPY)
    parser.add_argument("--only", action="append", choices=list(ALL), help="may be repeated")
    parser.add_argument("--data", type=Path, help="where data goes (default: a temporary one)")
    options = parser.parse_args()
    troubles = options.only or list(ALL)
    scratch = Path(tempfile.mkdtemp(dir=options.data, prefix="kafkapy-chaos-"))
    _silence_librdkafka(scratch)
    cluster = Cluster(scratch, options.target)
    run = Run(cluster, options.seed, say=lambda line: print(line, flush=True))
    try:
        run.start()
        for name in _names(troubles, options.minutes, options.seed):
            run.trouble(name)
        run.finish()
    except installation.Unavailable as reason:
        print(reason, file=sys.stderr)
        sys.exit(UNAVAILABLE)
    except Stuck as reason:
        print(reason, file=sys.stderr)
        sys.exit(STUCK)
    except BaseException:
        run.recording.write(scratch / "history.txt")
        print(
            f"what the nodes and librdkafka said is in {scratch}, the history in history.txt",
            file=sys.stderr,
        )
        raise
    finally:
        cluster.close()
    shutil.rmtree(scratch)


def _silence_librdkafka(scratch: Path) -> None:
    """It says on stderr, whatever its log level, that a producer was fenced: as is planned."""
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    with (scratch / "librdkafka.log").open("wb") as log:
        os.dup2(log.fileno(), 2)


def _names(troubles: list[str], minutes: float | None, seed: int) -> Iterator[str]:
    """Each once in its order, or in any order for so long."""
    if minutes is None:
        yield from troubles
        return
    dice, end = random.Random(seed), time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        yield dice.choice(troubles)


if __name__ == "__main__":
    main()
