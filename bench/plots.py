"""Plots of the results as PNG, where matplotlib is there (the `bench` extra brings it)."""

from pathlib import Path
from typing import Any


def plot(folder: Path, name: str, rows: dict[str, dict[str, Any]]) -> None:
    """Filled in with the families that have plots."""
