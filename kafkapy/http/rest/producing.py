"""POST /api/v1/topics/{topic}/messages: one message, or several; once, with an Idempotency-Key."""

import time
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kafkapy.core.errors import ErrorCode
from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Told, declared
from kafkapy.http.api.parameters import HEADER, Parameter
from kafkapy.http.kafka.client import Kafka
from kafkapy.http.kafka.errors import KafkaError
from kafkapy.http.problems import Problem
from kafkapy.http.rest.asking import json_object
from kafkapy.http.rest.messages import MOST_MESSAGES, Draft, Partitioner, batches, drafts
from kafkapy.http.rest.once.claims import Claim, fingerprint_of
from kafkapy.http.rest.once.once import MOST_KEY_LETTERS, Once, Outcome
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
        partitions = len(kafka.topic(topic).partitions)
        defaults = {} if several is None else body
        wanted = drafts(await self._schemas.encoded(kafka, topic, messages, defaults))
        places = self._partitioner.places(wanted, partitions)
        key = _KEY.said(request)
        if key is None:
            now = int(time.time() * 1000)
            outcome = await write(kafka, topic, batches(wanted, places, now))
            return _answer(wanted, places, now, outcome, is_single=several is None)
        fingerprint = fingerprint_of(topic, await request.body())
        claim, outcome, is_known = await self._at_most_once(
            kafka, key, topic, fingerprint, wanted, places
        )
        answer = _answer(wanted, claim.places, claim.timestamp, outcome, is_single=several is None)
        if is_known:
            answer.headers[_REPLAYED] = "true"
        return answer

    async def _at_most_once(
        self,
        kafka: Kafka,
        key: str,
        topic: str,
        fingerprint: str,
        wanted: Sequence[Draft],
        places: Sequence[int],
    ) -> tuple[Claim, Outcome, bool]:
        # Before the key is claimed: strangers' keys are not written down.
        if not await kafka.allowed(Operation.WRITE, ResourceType.TOPIC, [topic]):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic)

        async def write_claimed(claim: Claim) -> Outcome:
            packed = batches(wanted, claim.places, claim.timestamp)
            return await write(kafka, topic, packed, claim)

        return await self._once.do(kafka, key, topic, fingerprint, places, write_claimed)


def _answer(
    wanted: Sequence[Draft],
    places: Sequence[int],
    now: int,
    outcome: Outcome,
    *,
    is_single: bool,
) -> Response:
    """What became of each message, in their order."""
    nth = dict.fromkeys(outcome, 0)
    rows: list[dict[str, Any]] = []
    for (record, _), place in zip(wanted, places, strict=True):
        done = outcome[place]
        if isinstance(done, KafkaError):
            if is_single:
                raise done
            rows.append({"status": done.status, "error": done.code.name, "detail": str(done)})
            continue
        own = record.timestamp if record.timestamp >= 0 else now
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
