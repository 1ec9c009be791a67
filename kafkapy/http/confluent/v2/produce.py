"""POST /topics/{topic}, and /topics/{topic}/partitions/{partition}: records, by media type.

{"records": [{"key": …, "value": …, "partition": 0}], "value_schema": "…", "value_schema_id": 1}
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kafkapy.http.api.parameters import partition_of
from kafkapy.http.confluent.errors import V2, Refusal, answered, refusal_of
from kafkapy.http.confluent.v2.formats import BY_SCHEMA, message_of, named
from kafkapy.http.confluent.writing import Writing
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.rest.asking import json_object
from kafkapy.http.rest.messages import MOST_MESSAGES
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType


class Produce:
    """`site`'s pages."""

    def __init__(self, site: Site, writing: Writing) -> None:
        self._site = site
        self._writing = writing

    async def to_topic(self, request: Request) -> Response:
        return await self._write(request, None)

    async def to_partition(self, request: Request) -> Response:
        return await self._write(request, partition_of(request))

    async def _write(self, request: Request, partition: int | None) -> Response:
        topic, kafka = request.path_params["topic"], self._site.kafka(request)
        form = named(request.headers.get("content-type", ""), "json")
        body = await json_object(request)
        await kafka.require(Operation.WRITE, ResourceType.TOPIC, topic)
        kafka.topic(topic)
        if partition is not None:
            kafka.partition(topic, partition)
        records = body.get("records")
        if not isinstance(records, list) or not 0 < len(records) <= MOST_MESSAGES:
            raise Refusal(422, f"records is a list of 1 to {MOST_MESSAGES}")
        messages = [message_of(form, one) for one in records]
        if partition is not None:
            messages = [{**one, "partition": partition} for one in messages]
        schemas = _schemas(form, body) if form in BY_SCHEMA else {}
        wanted = await self._writing.drafts(kafka, topic, messages, schemas)
        done = await self._writing.write(kafka, topic, wanted)
        if all(isinstance(one, KafkaError) and one.status == 403 for one in done):
            raise next(one for one in done if isinstance(one, KafkaError))
        offsets = [_offset(one) for one in done]
        ids = {f"{part}_schema_id": _id_of(wanted, part, schemas) for part in ("key", "value")}
        return answered({**ids, "offsets": offsets}, media_type=V2)


def _offset(done: Any) -> dict[str, Any]:
    if isinstance(done, KafkaError):
        # 1: it is so, 2: it may pass.
        code = 2 if done.status in (429, 503, 504) else 1
        told = refusal_of(done, is_v3=False).message
        return {"partition": None, "offset": None, "error_code": code, "error": told}
    return {"partition": done.partition, "offset": done.offset, "error_code": None, "error": None}


def _schemas(form: str, body: dict[str, Any]) -> dict[str, Any]:
    """By id, or as they are; for keys, values or both."""
    found: dict[str, Any] = {}
    for part in ("key", "value"):
        text, number = body.get(f"{part}_schema"), body.get(f"{part}_schema_id")
        if number is not None:
            found[f"{part}Schema"] = number
        elif text is not None:
            found[f"{part}Schema"] = {"schemaType": BY_SCHEMA[form], "schema": text}
    return found


def _id_of(wanted: Any, part: str, schemas: dict[str, Any]) -> int | None:
    """Of the first that was written with it."""
    if f"{part}Schema" not in schemas:
        return None
    for draft, _ in wanted:
        data = draft.key if part == "key" else draft.value
        if data is not None:
            return int.from_bytes(data[1:5])
    return None
