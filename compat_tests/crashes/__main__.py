"""`python -m compat_tests.crashes [--rounds N] [--seed N] [--target kafkapy|apache]`."""

import argparse
import sys
import tempfile
from pathlib import Path

from compat_tests import installation
from compat_tests.crashes import UNAVAILABLE
from compat_tests.crashes.run import Run
from compat_tests.targets import KAFKAPY, TARGETS, server


def main() -> None:
    parser = argparse.ArgumentParser(prog="crashes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="deaths (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the load, not of the clock")
    parser.add_argument("--target", choices=TARGETS, default=KAFKAPY)
    parser.add_argument("--data", type=Path, help="where data goes (default: a temporary one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.data, prefix="kafkapy-crashes-") as scratch:
        broker = server(options.target, Path(scratch))
        try:
            Run(broker, options.seed, say=lambda line: print(line, flush=True)).go(options.rounds)
        except installation.Unavailable as reason:
            print(reason, file=sys.stderr)
            sys.exit(UNAVAILABLE)
        finally:
            broker.stop()


if __name__ == "__main__":
    main()
