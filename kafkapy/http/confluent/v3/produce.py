"""POST /v3/clusters/{cluster_id}/topics/{topic}/records          one, or as many as come
POST /v3/clusters/{cluster_id}/topics/{topic}/records:batch    {"entries": [{"id": "1", …}]}

A body without a length is a stream: each record is answered once it is written, in their order,
while more come. Those that come together are written together. A body with a length that has one
record has that record's status; else the status is 200, and each answer has its `error_code`.
"""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kafkapy.http.confluent.errors import V3, Refusal, answered, refusal_of, told
from kafkapy.http.confluent.v3.clusters import check_cluster
from kafkapy.http.confluent.v3.records import message_of, row_of
from kafkapy.http.confluent.v3.stream import parsed
from kafkapy.http.confluent.writing import Writing
from kafkapy.http.entrance.entry import READ
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import json_object
from kafkapy.http.rest.messages import MOST_MESSAGES, Draft
from kafkapy.http.serving.streams import Lasting
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType


class Produce:
    """`site`'s pages."""

    def __init__(self, site: Site, writing: Writing) -> None:
        self._site = site
        self._writing = writing
        self._most = site.config.http_max_request_bytes

    async def records(self, request: Request) -> Response:
        check_cluster(self._site, request)
        kafka, topic = self._site.kafka(request), request.path_params["topic"]
        await kafka.require(Operation.WRITE, ResourceType.TOPIC, topic)
        kafka.topic(topic)
        if "content-length" not in request.headers:
            gone = self._site.streams.enter(request.scope)
            return Lasting(_Rows(self._rows(request, kafka, topic)), gone)
        rows = [row async for row in self._rows(request, kafka, topic)]
        if len(rows) == 1:
            status = int(str(rows[0]["error_code"])[:3])
            return answered(rows[0], status)
        if not rows:
            raise Refusal(400, "the body has no record")
        return Response("\r\n".join(map(json.dumps, rows)), media_type=V3)

    async def batch(self, request: Request) -> Response:
        check_cluster(self._site, request)
        kafka, topic = self._site.kafka(request), request.path_params["topic"]
        entries = (await json_object(request)).get("entries")
        if not isinstance(entries, list) or not 0 < len(entries) <= MOST_MESSAGES:
            raise Refusal(400, f"entries is a list of 1 to {MOST_MESSAGES}")
        await kafka.require(Operation.WRITE, ResourceType.TOPIC, topic)
        kafka.topic(topic)
        successes, failures = [], []
        for entry, row in zip(entries, await self._written(kafka, topic, entries), strict=True):
            named = {"id": entry.get("id") if isinstance(entry, dict) else None, **row}
            if row["error_code"] == 200:
                del named["error_code"]
                successes.append(named)
            else:
                failures.append(named)
        return answered({"successes": successes, "failures": failures}, 207)

    async def _rows(
        self, request: Request, kafka: Kafka, topic: str
    ) -> AsyncGenerator[dict[str, Any], None]:
        async for several, wrong in parsed(request.stream(), self._most):
            request.scope[READ] = 0  # what was understood is not counted against the body's length
            for at in range(0, len(several), MOST_MESSAGES):
                for row in await self._written(kafka, topic, several[at : at + MOST_MESSAGES]):
                    yield row
            if wrong is not None:
                yield told(refusal_of(wrong, is_v3=True))

    async def _written(
        self, kafka: Kafka, topic: str, several: Sequence[Any]
    ) -> list[dict[str, Any]]:
        """What became of each; one that is wrong keeps no other from being written."""
        rows: list[dict[str, Any]] = [{} for _ in several]
        good: list[tuple[int, Draft]] = []
        for at, drafted in enumerate(await self._drafts(kafka, topic, several)):
            if isinstance(drafted, Problem):
                rows[at] = told(refusal_of(drafted, is_v3=True))
            else:
                good.append((at, drafted))
        try:
            done = await self._writing.write(kafka, topic, [draft for _, draft in good])
        except (KafkaError, Problem) as failed:
            rows = [row or told(refusal_of(failed, is_v3=True)) for row in rows]
        else:
            for (at, _), one in zip(good, done, strict=True):
                rows[at] = row_of(kafka.link.node.cluster_id, topic, several[at], one)
        return rows

    async def _drafts(
        self, kafka: Kafka, topic: str, several: Sequence[Any]
    ) -> list[Draft | Problem]:
        """All together, and if one of them is wrong each by itself."""
        try:
            return list(await self._together(kafka, topic, several))
        except Problem as wrong:
            if len(several) == 1:
                return [wrong]
        found: list[Draft | Problem] = []
        for one in several:
            found += await self._drafts(kafka, topic, [one])
        return found

    async def _together(self, kafka: Kafka, topic: str, several: Sequence[Any]) -> list[Draft]:
        made = await self._writing.drafts(kafka, topic, [message_of(one) for one in several], {})
        partitions = len(kafka.topic(topic).partitions)
        for _, partition in made:
            if partition is not None and partition >= partitions:
                raise Problem(404, f"{topic} has no partition {partition}")
        return made


class _Rows(Response):
    """As they come. Starlette's own would listen for the client's end, and so take the records."""

    def __init__(self, rows: AsyncGenerator[dict[str, Any], None]) -> None:
        super().__init__(media_type=V3)
        del self.headers["content-length"]
        self._rows = rows

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = {"type": "http.response.start", "status": self.status_code}
        await send({**head, "headers": self.raw_headers})
        async with aclosing(self._rows):
            with suppress(ClientDisconnect):  # what it has sent is written
                async for row in self._rows:
                    body = json.dumps(row).encode() + b"\r\n"
                    await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
