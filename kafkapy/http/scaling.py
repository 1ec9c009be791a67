"""/api/v1/scaling/groups/{group}: how far a group is behind, as one JSON object for who decides how
many consumers it needs: KEDA's metrics-api scaler, a script, a horizontal autoscaler's adapter.

    {"group": "orders", "lag": 1200, "lag_seconds": 14.2, "lag_rate": -3.0, "members": 2,
     "partitions": 12, "busy_partitions": 7}

Any node may be asked, of a group that another coordinates too. `busy_partitions` have something to
read: more consumers than that have nothing to do. `lag_seconds` and `lag_rate` are what the
group's coordinator has looked at; another node says null.

A partition of which the group has committed nothing is not behind, as far as anybody knows: its
consumers may begin at the end. `?reset=earliest` says that they begin at the start, and counts it.
"""

from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from kafkapy.core.errors import ErrorCode
from kafkapy.core.ids import TopicPartition
from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Api, Told, declared
from kafkapy.http.api.parameters import Parameter, Word
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.site import Site
from kafkapy.http.watching.lag import Lag
from kafkapy.kraft.acls import Operation, ResourceType

_TOPIC = Parameter("topic", "Count this topic alone")
_RESET = Word(
    "reset",
    "Where its consumers begin in a partition of which nothing is committed: from earliest on, all "
    "of it is counted, in the topics of which something is committed or the one that is asked for",
    "latest",
    "earliest",
)
_TOLD = shapes.fields(
    {
        "group": shapes.TEXT,
        "lag": shapes.number(0, 2**63 - 1),
        "lag_seconds": shapes.nullable(shapes.FRACTION),
        "lag_rate": shapes.nullable(shapes.FRACTION),
        "members": shapes.nullable(shapes.WHOLE),
        "partitions": shapes.WHOLE,
        "busy_partitions": shapes.WHOLE,
    },
    title="GroupLag",
)


def routes(site: Site) -> list[BaseRoute]:
    @declared(
        "How far a group is behind, for who decides how many consumers it needs",
        subject="Groups",
        parameters=(_TOPIC, _RESET),
        answers={200: Told("null: the group's coordinator knows", _TOLD)},
        problems=(404,),
    )
    async def scaling(request: Request) -> Response:
        kafka = site.kafka(request)
        group, topic = request.path_params["group"], _TOPIC.said(request)
        if topic is not None:
            await kafka.require(Operation.DESCRIBE, ResourceType.TOPIC, topic)
        committed = {
            where: offset
            for where, offset in (await groups.committed(kafka, group)).items()
            if topic in (None, where.topic)
        }
        if _RESET.of(request) == "earliest":
            topics = {where.topic for where in committed} if topic is None else {topic}
            committed = await _starts(kafka, topics) | committed
        if not committed:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, group, "it has committed nothing (yet)")
        lags = await _lags(kafka, committed)
        looked = await _looked(kafka, site, group, topic)
        seconds = [one.seconds for one in looked if one.seconds is not None]
        told = {
            "group": group,
            "lag": sum(lags.values()),
            "lag_seconds": round(max(seconds), 3) if seconds else None,
            "lag_rate": round(sum(one.rate for one in looked), 3) if looked else None,
            "members": site.lag.members.get(group) if looked else None,
            "partitions": len(lags),
            "busy_partitions": sum(1 for one in lags.values() if one),
        }
        return JSONResponse(told)

    return [Api("/api/v1/scaling/groups/{group}", GET=scaling)]


async def _looked(kafka: Kafka, site: Site, group: str, topic: str | None) -> list[Lag]:
    """Of topics that the principal may see, as what was committed is."""
    found = [one for one in site.lag.of_group(group) if topic in (None, one.topic)]
    names = sorted({one.topic for one in found})
    visible = await kafka.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    return [one for one in found if one.topic in visible]


def _partitions(kafka: Kafka, topic: str) -> Collection[int]:
    """A view has those of its source; of a topic that was deleted there are none."""
    try:
        return kafka.topic(topic).partitions
    except KafkaError:
        return ()


async def _starts(kafka: Kafka, topics: set[str]) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for topic in sorted(topics):
        wanted = dict.fromkeys(_partitions(kafka, topic), records.START)
        if wanted:
            for partition, start in (await records.list_offsets(kafka, topic, wanted)).items():
                found[TopicPartition(topic, partition)] = start
    return found


async def _lags(kafka: Kafka, committed: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    """As of now. Of partitions that were deleted nothing is left to read."""
    lags: dict[TopicPartition, int] = {}
    for topic in sorted({where.topic for where in committed}):
        known = _partitions(kafka, topic)
        wanted = {
            where.partition: records.END
            for where in committed
            if where.topic == topic and where.partition in known
        }
        if wanted:
            for partition, end in (await records.list_offsets(kafka, topic, wanted)).items():
                where = TopicPartition(topic, partition)
                lags[where] = max(0, end - committed[where])
    return lags
