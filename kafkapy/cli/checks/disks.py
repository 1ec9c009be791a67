"""How much room a directory has, measured here or told by a broker."""

from collections.abc import Iterator
from typing import Final

from kafkapy.cli.checks.findings import Finding

# A segment is 1 GB by default, and the cleaner needs room for a copy of one.
_LEAST_FREE: Final = 0.1
_GIGABYTE: Final = 1 << 30


def check_space(about: str, total: int, usable: int) -> Iterator[Finding]:
    if total > 0 and usable < total * _LEAST_FREE:
        yield Finding(
            "disk-nearly-full", about,
            f"{usable / _GIGABYTE:.1f} of {total / _GIGABYTE:.1f} GB are free",
            "Give it more room, or keep less: retention.bytes, retention.ms.",
        )  # fmt: skip
