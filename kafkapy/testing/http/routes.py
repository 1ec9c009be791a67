"""THE table of the test API: what can be asked over HTTP. The OpenAPI page is made from it.

Names of fields are those of the Python methods; durations say their unit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafkapy.testing.gate.faults import Fault, known_api
from kafkapy.testing.http import shapes
from kafkapy.testing.http.kit import Kit
from kafkapy.testing.http.shapes import BadRequest, Json

Given = Mapping[str, Any]
_DEFAULT_TIMEOUT_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Field:
    """`kind` is JSON schema's word; whole numbers are below `limit`, as Kafka has them."""

    name: str
    kind: str
    about: str = ""
    is_required: bool = False
    limit: int = 1 << 31


@dataclass(frozen=True, slots=True)
class Route:
    """`{name}` in the path is a field too. `handle` gets all fields in one mapping."""

    method: str
    path: str
    about: str
    handle: Callable[[Kit, Given], Any]
    query: tuple[Field, ...] = ()
    body: tuple[Field, ...] = ()


def _broker(kit: Kit, _: Given) -> Json:
    broker = kit.broker
    return {
        "bootstrap": broker.bootstrap,
        "is_running": broker.is_running,
        "clock_ahead_ms": broker.clock.ahead_ms,
        "disk_is_full": broker.disk.is_full,
    }


def _life(change: Callable[[Kit], None]) -> Callable[[Kit, Given], Json]:
    def handle(kit: Kit, given: Given) -> Json:
        change(kit)
        return _broker(kit, given)

    return handle


def _fill(kit: Kit, given: Given) -> Json:
    kit.broker.disk.fill()
    return _broker(kit, given)


def _free(kit: Kit, given: Given) -> Json:
    kit.broker.disk.free()
    return _broker(kit, given)


def _advance(kit: Kit, given: Given) -> Json:
    kit.broker.clock.advance(
        hours=given.get("hours", 0),
        minutes=given.get("minutes", 0),
        seconds=given.get("seconds", 0),
        ms=given.get("ms", 0),
    )
    return {"clock_ahead_ms": kit.broker.clock.ahead_ms}


def _topics(kit: Kit, _: Given) -> list[Json]:
    return [{"topic": name, "partitions": n} for name, n in kit.broker.topics().items()]


def _create_topic(kit: Kit, given: Given) -> Json:
    partitions = given.get("partitions", 1)
    config = given.get("config", {})
    if not all(isinstance(one, str) for one in config.values()):
        raise BadRequest('config: values are text, as Kafka has them: {"retention.ms": "60000"}')
    kit.broker.create_topic(given["topic"], partitions, config)
    return {"topic": given["topic"], "partitions": partitions}


def _produce(kit: Kit, given: Given) -> Json:
    written = kit.broker.produce(
        given["topic"],
        shapes.data_from(given, "value"),
        shapes.data_from(given, "key"),
        shapes.headers_from(given.get("headers", [])),
        given.get("partition"),
        given.get("timestamp"),
    )
    return shapes.partition(written)


def _records(kit: Kit, given: Given) -> list[Json]:
    if "count" in given:
        timeout = given.get("timeout_ms", _DEFAULT_TIMEOUT_MS) / 1000
        found = kit.broker.wait_for(given["topic"], given["count"], timeout)
    else:
        found = kit.broker.records(given["topic"])
    return [shapes.record(one) for one in found]


def _groups(kit: Kit, _: Given) -> list[Json]:
    return [shapes.group(one) for one in kit.broker.groups()]


def _lag(kit: Kit, given: Given) -> Json:
    return {"lag": kit.broker.lag(given["group"], given.get("topic"))}


def _committed(kit: Kit, given: Given) -> list[Json]:
    commits = sorted(kit.broker.committed(given["group"]).items())
    return [{**shapes.partition(one), "offset": offset} for one, offset in commits]


def _expire(kit: Kit, given: Given) -> Json:
    return shapes.member(
        kit.broker.expire_member(
            given["group"], member_id=given.get("member_id"), client_id=given.get("client_id")
        )
    )


def _lose(kit: Kit, given: Given) -> Json:
    lost = kit.broker.lose_coordinator(
        group=given.get("group"), transactional_id=given.get("transactional_id")
    )
    kit.lost.append(lost)
    return {"lost": len(kit.lost)}


def _elect(kit: Kit, _: Given) -> Json:
    return {"elected": kit.elect()}


def _requests(kit: Kit, given: Given) -> list[Json]:
    return [shapes.request(one) for one in kit.broker.requests(given.get("api"))]


def _forget_requests(kit: Kit, _: Given) -> Json:
    kit.broker.forget_requests()
    return {}


def _events(kit: Kit, _: Given) -> list[Json]:
    return [
        {"level": level, "event": event, "facts": {name: str(one) for name, one in facts.items()}}
        for level, event, facts in kit.broker.events()
    ]


_INSTEAD: Final = ("drop", "disconnect", "lose_answer", "tear", "hold")


def _add_fault(kit: Kit, given: Given) -> Json:
    draft = Fault(known_api(given["api"]), None, None, None)  # judged before it can happen
    _say(draft, given)
    fault = kit.broker.faults.on(
        given["api"],
        topic=given.get("topic"),
        group=given.get("group"),
        client_id=given.get("client_id"),
    )
    _say(fault, given)
    return shapes.fault(kit.keep_fault(fault), fault)


def _say(fault: Fault, given: Given) -> None:
    """When first: the broker looks at a fault as soon as it is told what to do."""
    for name, tell in (("times", fault.times), ("on_call", fault.on_call)):
        if name in given:
            tell(given[name])
    if "probability" in given:
        if "seed" not in given:
            raise BadRequest("probability: give a seed with it, so that it happens again")
        fault.with_probability(given["probability"], given["seed"])
    if "error" in given:
        fault.error(given["error"])
    if "instead" in given:
        if given["instead"] not in _INSTEAD:
            raise BadRequest(f"instead: expected one of {', '.join(_INSTEAD)}")
        getattr(fault, given["instead"])()
    if "delay_ms" in given:
        fault.delay(given["delay_ms"])
    if not fault.is_complete:
        raise BadRequest("a fault says what happens: error, instead or delay_ms")


def _faults(kit: Kit, _: Given) -> list[Json]:
    return [shapes.fault(number, one) for number, one in kit.faults.items()]


def _clear_faults(kit: Kit, _: Given) -> Json:
    kit.clear_faults()
    return {}


def _check_faults(kit: Kit, _: Given) -> Json:
    kit.broker.faults.check()
    return {}


def _release(kit: Kit, given: Given) -> Json:
    found = kit.faults.get(given["id"])
    if found is None:
        raise LookupError(f"there is no fault {given['id']}")
    found.release()
    return shapes.fault(given["id"], found)


def _text(name: str, about: str = "", *, is_required: bool = False) -> Field:
    return Field(name, "string", about, is_required)


def _whole(name: str, about: str = "", *, limit: int = 1 << 31) -> Field:
    return Field(name, "integer", about, limit=limit)


_ON_TOPIC: Final = _text("topic", is_required=True)
_OF_GROUP: Final = _text("group", is_required=True)
_DURATION: Final = tuple(Field(name, "number") for name in ("hours", "minutes", "seconds"))

ROUTES: Final = (
    Route("GET", "/broker", "Where it is, whether it runs, how far its clock is ahead.", _broker),
    Route("POST", "/broker/reset", "An empty broker on the same port; all else starts over.",
          _life(Kit.reset)),
    Route("POST", "/broker/restart", "Stop cleanly, start on the same data.", _life(Kit.restart)),
    Route("POST", "/broker/kill", "End at once, as on SIGKILL.", _life(Kit.kill)),
    Route("POST", "/broker/stop", "Shut down cleanly.", _life(Kit.stop)),
    Route("POST", "/broker/start", "Serve again, on the same port and data.", _life(Kit.start)),
    Route("POST", "/clock/advance", "Put the broker's clock forward.", _advance,
          body=(*_DURATION, _whole("ms"))),
    Route("POST", "/disk/fill", "The next write fails, and the broker halts.", _fill),
    Route("POST", "/disk/free", "There is room again; a halted broker wants a start.", _free),
    Route("GET", "/topics", "Topics and their numbers of partitions.", _topics),
    Route("POST", "/topics", "Create a topic; it serves when this answers.", _create_topic,
          body=(_ON_TOPIC, _whole("partitions"), Field("config", "object", "Kafka's settings"))),
    Route("GET", "/topics/{topic}/records",
          "All that stands in the topic; with `count` the visible records once there are so many.",
          _records, query=(_whole("count"), _whole("timeout_ms", "10,000 if not given"))),
    Route("POST", "/topics/{topic}/records", "Write one record.", _produce,
          body=(_text("value"), _text("value_base64"), _text("key"), _text("key_base64"),
                Field("headers", "object", "name to text; or a list, as records have them"),
                _whole("partition"),
                _whole("timestamp", "milliseconds since 1970", limit=1 << 63))),
    Route("GET", "/groups", "Groups, their members, and what each reads.", _groups),
    Route("GET", "/groups/{group}/lag", "Records the group has still to read.", _lag,
          query=(_text("topic"),)),
    Route("GET", "/groups/{group}/committed", "The offsets the group has committed.", _committed),
    Route("POST", "/groups/{group}/expire", "Put a member out, as if its session had ended.",
          _expire, body=(_text("member_id"), _text("client_id"))),
    Route("POST", "/coordinators/lose", "Nobody coordinates this group or transactional id.",
          _lose, body=(_text("group"), _text("transactional_id"))),
    Route("POST", "/coordinators/elect", "Those that were lost are coordinated again.", _elect),
    Route("GET", "/requests", "What clients asked.", _requests, query=(_text("api"),)),
    Route("DELETE", "/requests", "Forget them.", _forget_requests),
    Route("GET", "/events", "The broker's own log.", _events),
    Route("GET", "/faults", "The faults asked for, and how often each has happened.", _faults),
    Route("POST", "/faults", "A fault: which requests, what happens to them, and when.", _add_fault,
          body=(_text("api", "Produce, Fetch, JoinGroup ...", is_required=True), _text("topic"),
                _text("group"), _text("client_id"), _text("error", "one of Kafka's, by name"),
                _text("instead", f"one of {', '.join(_INSTEAD)}"), _whole("delay_ms"),
                _whole("times"), _whole("on_call"), Field("probability", "number"),
                _whole("seed"))),
    Route("DELETE", "/faults", "From now on all is well.", _clear_faults),
    Route("POST", "/faults/check", "409 if one of them never happened: ask at the end of a test.",
          _check_faults),
    Route("POST", "/faults/{id}/release", "Serve what a fault holds, and hold nothing more.",
          _release),
)  # fmt: skip
