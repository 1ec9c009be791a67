"""`python -m kafkapy.sim.scale`: what brokers and controllers cost with many empty partitions.

    python -m kafkapy.sim.scale --brokers 30 --topics 10000 --partitions 10

One process plays all of them; figures are the processor's time and this process's memory.
docs/SCALE.md says what they are worth.
"""

import argparse
import gc
import sys

from kafkapy.sim.scale.measuring import measure


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kafkapy.sim.scale", description=__doc__)
    parser.add_argument("--brokers", type=int, default=30)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=10, help="of each topic")
    parser.add_argument("--at-once", type=int, default=1000, help="topics in the request measured")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    # It would be the other thirty machines' garbage that one of them is held up by.
    gc.disable()
    measure(
        options.brokers,
        options.topics,
        options.partitions,
        at_once=options.at_once,
        seed=options.seed,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
