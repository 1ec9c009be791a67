"""Tasks of streams groups as their APIs list them."""

from typing import Any

from kafkapy.group.streams.member import Tasks


def task_fields(tasks: Tasks) -> list[dict[str, Any]]:
    return [
        {"subtopology_id": one, "partitions": sorted(tasks[one])}
        for one in sorted(tasks)
        if tasks[one]
    ]
