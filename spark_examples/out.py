"""Where an example's results go: a directory of its own, empty when it begins."""

import argparse
import shutil
from pathlib import Path

_OUT = Path(__file__).resolve().parent / "out"


def add_out(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"empty, or not there yet; default: {_OUT / name}"
    )


def emptied(given: Path | None, name: str) -> Path:
    """What the last run left is removed, from the examples' own directory alone: whatever else
    somebody names may hold more than results. FileExistsError if it holds something."""
    out = _OUT / name if given is None else given
    if given is None:
        shutil.rmtree(out, ignore_errors=True)
    elif out.exists() and any(out.iterdir()):
        raise FileExistsError(f"{out} is not empty: choose another with --out")
    out.mkdir(parents=True, exist_ok=True)
    return out.resolve()
