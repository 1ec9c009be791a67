"""A plan as a file: the JSON that kafka-reassign-partitions writes and takes."""

import json
from pathlib import Path
from typing import Any, Final

from kafkapy.cli.cluster.plan import Placement
from kafkapy.cli.main import Failed

_VERSION: Final = 1
_ANY: Final = "any"


def as_text(placement: Placement) -> str:
    rows = [
        {"topic": topic, "partition": index, "replicas": list(replicas)}
        for (topic, index), replicas in sorted(placement.items())
    ]
    return json.dumps({"version": _VERSION, "partitions": rows}, indent=1) + "\n"


def read_plan(path: Path) -> Placement:
    """Failed, with what is wrong, if it is no plan that can be carried out here."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        rows = told["partitions"]
        if told.get("version", _VERSION) != _VERSION:
            raise Failed(f"{path}: version {told['version']} is not known, only {_VERSION}")
        return _placement(path, rows)
    except (ValueError, KeyError, TypeError, AttributeError) as bad:
        raise Failed(f"{path} is no plan: {type(bad).__name__}: {bad}") from None


def _placement(path: Path, rows: list[dict[str, Any]]) -> Placement:
    placement: Placement = {}
    for row in rows:
        where = (str(row["topic"]), int(row["partition"]))
        replicas = tuple(map(int, row["replicas"]))
        named = f"{path}: {where[0]}-{where[1]}"
        if where in placement:
            raise Failed(f"{named} is there twice")
        if not replicas or len(set(replicas)) != len(replicas):
            raise Failed(f"{named} cannot have the replicas {list(replicas)}")
        if any(one != _ANY for one in row.get("log_dirs", ())):
            raise Failed(f"{named} names directories; kafka-reassign-partitions moves to those")
        placement[where] = replicas
    return placement
