"""POST /api/v1/topics/{topic}/messages: one message, or several; once, with an Idempotency-Key."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Told, declared
from kafkapy.http.api.parameters import HEADER, Parameter
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import json_object
from kafkapy.http.rest.messages import (
    MOST_MESSAGES,
    NO_TIMESTAMP,
    Draft,
    Partitioner,
    batches,
    drafts,
    timestamp_of,
)
from kafkapy.http.rest.once.claims import Claim, fingerprint_of
from kafkapy.http.rest.once.once import MOST_KEY_LETTERS, Once, Outcome, Plan
from kafkapy.http.rest.schemas import Schemas
from kafkapy.http.rest.shapes import MESSAGE_IN, NOT_WRITTEN, SCHEMA_CHOICE, WRITTEN
from kafkapy.http.rest.writing import write
from kafkapy.http.site import Site
from kafkapy.kraft.acls import Operation, ResourceType

_REPLAYED = "idempotency-replayed"
_BESIDE = frozenset(("messages", "keySchema", "valueSchema"))
_KEY = Parameter(
    "Idempotency-Key",
    "Repeat the request with it until it is answered: it is written once",
    shapes.text(least=1, most=MOST_KEY_LETTERS),
    where=HEADER,
)
_ONE_OR_MANY = shapes.either(
    MESSAGE_IN,
    shapes.fields(
        {"messages": shapes.several(MESSAGE_IN, least=1, most=MOST_MESSAGES)},
        {
            "keySchema": shapes.nullable(SCHEMA_CHOICE),
            "valueSchema": shapes.nullable(SCHEMA_CHOICE),
        },
    ),
)
_ALL = shapes.fields({"messages": shapes.several(WRITTEN)})
_SOME = shapes.fields({"messages": shapes.several(shapes.either(WRITTEN, NOT_WRITTEN))})


class Producing:
    """`site`'s page."""

    def __init__(self, site: Site, once: Once, schemas: Schemas) -> None:
        self._site = site
        self._schemas = schemas
        self._once = once
        self._partitioner = Partitioner()

    @declared(
        "Write messages",
        subject="Messages",
        told="Acknowledged by all replicas in sync. Those of one partition are written together.",
        parameters=(_KEY,),
        body=Told("A message, or several", _ONE_OR_MANY),
        answers={
            200: Told("Where each is", shapes.either(WRITTEN, _ALL)),
            207: Told("Some were refused", _SOME),
        },
        problems=(404, 409, 422),
    )
    async def page(self, request: Request) -> Response:
        topic = request.path_params["topic"]
        kafka = self._site.kafka(request)
        body = await json_object(request)
        several = body.get("messages")
        messages = [body] if several is None else several
        if several is not None and not body.keys() <= _BESIDE:
            raise Problem(400, f"beside messages may stand {', '.join(sorted(_BESIDE))}")
        if not isinstance(messages, list) or not messages:
            raise Problem(400, "messages is a list of messages")
        if len(messages) > MOST_MESSAGES:
            raise Problem(413, f"more than {MOST_MESSAGES} messages")
        # As brokers do, before it is said whether it is there; and strangers' keys are not kept.
        await kafka.require(Operation.WRITE, ResourceType.TOPIC, topic)
        attempt = _Attempt(
            kafka,
            topic,
            messages,
            {} if several is None else body,
            self._schemas,
            self._partitioner,
        )
        key = _KEY.said(request)
        if key is None:
            now, (places, _) = int(time.time() * 1000), await attempt.plan()
            outcome, is_known = await attempt.write_at(places, now), False
        else:
            fingerprint = fingerprint_of(topic, await request.body())
            claim, outcome, is_known = await self._once.do(kafka, key, topic, fingerprint, attempt)
            places, now = claim.places, claim.timestamp
        timestamps = [timestamp_of(one) for one in messages]
        answer = _answer(timestamps, places, now, outcome, is_single=several is None)
        if is_known:
            answer.headers[_REPLAYED] = "true"
        return answer


class _Attempt:
    """The messages of one request: encoded once somebody needs their bytes."""

    def __init__(
        self,
        kafka: Kafka,
        topic: str,
        messages: Sequence[Any],
        defaults: Mapping[str, Any],
        schemas: Schemas,
        partitioner: Partitioner,
    ) -> None:
        self._kafka = kafka
        self._topic = topic
        self._messages = messages
        self._defaults = defaults
        self._schemas = schemas
        self._partitioner = partitioner
        self._wanted: Sequence[Draft] = ()
        self._schema_ids: Mapping[str, tuple[int, ...]] = {}

    async def plan(self) -> Plan:
        partitions = len(self._kafka.topic(self._topic).partitions)
        await self._encode(None)
        return Plan(self._partitioner.places(self._wanted, partitions), self._schema_ids)

    async def write(self, claim: Claim) -> Outcome:
        kept = claim.schema_ids
        if not self._wanted or kept not in (None, self._schema_ids):
            await self._encode(kept)
        return await self.write_at(claim.places, claim.timestamp, claim)

    async def write_at(
        self, places: Sequence[int], now: int, claim: Claim | None = None
    ) -> Outcome:
        packed = batches(self._wanted, places, now)
        return await write(self._kafka, self._topic, packed, claim)

    async def _encode(self, kept: Mapping[str, tuple[int, ...]] | None) -> None:
        made, self._schema_ids = await self._schemas.encoded(
            self._kafka, self._topic, self._messages, self._defaults, kept
        )
        self._wanted = drafts(made)


def _answer(
    timestamps: Sequence[int],
    places: Sequence[int],
    now: int,
    outcome: Outcome,
    *,
    is_single: bool,
) -> Response:
    """What became of each message, in their order."""
    nth = dict.fromkeys(outcome, 0)
    rows: list[dict[str, Any]] = []
    for said, place in zip(timestamps, places, strict=True):
        done = outcome[place]
        if isinstance(done, KafkaError):
            if is_single:
                raise done
            rows.append({"status": done.status, "error": done.code.name, "detail": str(done)})
            continue
        own = now if said == NO_TIMESTAMP else said
        timestamp = own if done.timestamp < 0 else done.timestamp
        rows.append(
            {"partition": place, "offset": done.offset + nth[place], "timestamp": timestamp}
        )
        nth[place] += 1
    if is_single:
        return JSONResponse(rows[0])
    refused = [one for one in outcome.values() if isinstance(one, KafkaError)]
    if refused and len(refused) == len(outcome):
        raise Problem(refused[0].status, f"nothing is written: {refused[0]}", messages=rows)
    return JSONResponse({"messages": rows}, 207 if refused else 200)
