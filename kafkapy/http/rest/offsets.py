"""Offsets of groups.

    GET  /api/v1/consumer-groups/{group}/offsets      committed, end and lag of each partition
    POST /api/v1/consumer-groups/{group}/offsets      commit, in the name of the group

Without a member the group has to be empty, or 409: Kafka's rule. One that is pushed to by
server-sent events is told its `memberId` and `memberEpoch`, and commits with them.
"""

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kafkapy.core.ids import TopicPartition
from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Told, declared
from kafkapy.http.api.parameters import bounded
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import json_object, only
from kafkapy.http.rest.shapes import (
    COMMITTED_OFFSET,
    MOST_OFFSET,
    MOST_PARTITION,
    OFFSET,
    PARTITION,
)
from kafkapy.http.site import Site

MOST_OFFSETS: Final = 10_000
_FIELDS: Final = ("offsets", "memberId", "memberEpoch")
_COMMITTED: Final = shapes.fields(
    {
        "topic": shapes.TEXT,
        "partition": PARTITION,
        "offset": OFFSET,
        "endOffset": shapes.nullable(OFFSET),
        "lag": shapes.nullable(OFFSET),
    },
    title="OffsetWithLag",
    told="Of a topic that is gone there is no end, and no lag",
)
_OFFSETS: Final = {"offsets": shapes.several(COMMITTED_OFFSET, least=1, most=MOST_OFFSETS)}


class Offsets:
    """`site`'s pages."""

    def __init__(self, site: Site) -> None:
        self._site = site

    @declared(
        "What a group has committed, and how far that is from the end",
        subject="Groups",
        answers={
            200: Told(
                "By topic and partition",
                shapes.fields({"group": shapes.TEXT, "offsets": shapes.several(_COMMITTED)}),
            )
        },
        problems=(404,),
    )
    async def committed(self, request: Request) -> Response:
        kafka, group = self._site.kafka(request), request.path_params["group"]
        return JSONResponse({"group": group, "offsets": await with_lags(kafka, group)})

    @declared(
        "Commit offsets of a group",
        subject="Groups",
        told="Of a group that has no members, or as the member that a stream has told of.",
        body=Told(
            "The next offsets to be read",
            shapes.fields(
                _OFFSETS,
                {"memberId": shapes.TEXT, "memberEpoch": shapes.number(-1, MOST_PARTITION)},
            ),
        ),
        answers={
            200: Told("They are committed", shapes.fields({"group": shapes.TEXT, **_OFFSETS}))
        },
        problems=(404, 409),
    )
    async def commit(self, request: Request) -> Response:
        kafka, group = self._site.kafka(request), request.path_params["group"]
        body = only(await json_object(request), _FIELDS)
        rows = body.get("offsets")
        if not isinstance(rows, list) or not 0 < len(rows) <= MOST_OFFSETS:
            raise Problem(
                400, "offsets is a list of objects with a topic, a partition and an offset"
            )
        wanted = dict(_wanted(row) for row in rows)
        member_id, epoch = body.get("memberId", ""), body.get("memberEpoch", -1)
        if not isinstance(member_id, str):
            raise Problem(400, "memberId is a text")
        epoch = bounded(epoch, "memberEpoch", -1, MOST_PARTITION)
        await groups.commit(kafka, group, wanted, member_id=member_id, generation=epoch)
        told = [{**where._asdict(), "offset": offset} for where, offset in wanted.items()]
        return JSONResponse({"group": group, "offsets": told})


async def with_lags(kafka: Kafka, group: str) -> list[dict[str, Any]]:
    """What the group has committed; null where there is no end any more."""
    found = await groups.committed(kafka, group)
    ends = await _ends(kafka, found)
    rows = []
    for where, offset in sorted(found.items()):
        end = ends.get(where)
        row: dict[str, Any] = {**where._asdict(), "offset": offset, "endOffset": end}
        row["lag"] = None if end is None else max(end - offset, 0)
        rows.append(row)
    return rows


def _wanted(row: Any) -> tuple[TopicPartition, int]:
    if not isinstance(row, Mapping) or not isinstance(row.get("topic"), str):
        raise Problem(400, "an offset has a topic, a partition and an offset")
    partition = bounded(row.get("partition"), "partition", 0, MOST_PARTITION)
    return TopicPartition(row["topic"], partition), bounded(
        row.get("offset"), "offset", 0, MOST_OFFSET
    )


async def _ends(kafka: Kafka, found: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Of topics that are still there."""
    by_topic: dict[str, dict[int, int]] = {}
    for where in found:
        by_topic.setdefault(where.topic, {})[where.partition] = records.END
    ends: dict[TopicPartition, int] = {}
    for topic, wanted in by_topic.items():
        try:
            told = await records.list_offsets(kafka, topic, wanted)
        except KafkaError:
            continue
        ends |= {TopicPartition(topic, partition): end for partition, end in told.items()}
    return ends
