"""Dead letters over HTTP: by reason, each, back to their origin, over."""

from itertools import count
from typing import Any

import httpx2 as httpx
import pytest

from kafkapy.testing import Broker

_NUMBERS = count()


@pytest.fixture
def topic(broker: Broker) -> str:
    """Of dead letters; their origin is `<topic>.origin`, of two partitions."""
    name = f"dead-{next(_NUMBERS)}"
    broker.create_topic(name, partitions=2)
    broker.create_topic(f"{name}.origin", partitions=2)
    return name


def bury(broker: Broker, topic: str, value: str, reason: str, partition: int = 1) -> None:
    headers = {
        "kafkapy.origin.topic": f"{topic}.origin",
        "kafkapy.origin.partition": str(partition),
        "kafkapy.origin.offset": "7",
        "kafkapy.attempts": "3",
        "kafkapy.error": reason,
        "trace": "t1",
    }
    broker.produce(topic, value, key=value, headers=headers, partition=0)


def asked(http: httpx.Client, topic: str, page: str = "", **query: Any) -> Any:
    answer = http.get(f"/api/v1/dead-letters/{topic}{page}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def done(http: httpx.Client, topic: str, what: str, **body: Any) -> Any:
    answer = http.post(f"/api/v1/dead-letters/{topic}/{what}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def values(http: httpx.Client, topic: str, **query: Any) -> list[str]:
    return [one["value"] for one in asked(http, topic, "/letters", **query)["letters"]]


def test_they_are_counted_by_reason_and_shown(
    broker: Broker, over_http: httpx.Client, topic: str
) -> None:
    assert asked(over_http, topic) == {"topic": topic, "reasons": []}
    for number in range(3):
        bury(broker, topic, f"a{number}", "ValueError: no")
    bury(broker, topic, "b", "Timeout: late", 0)
    broker.wait_for(topic, 4)
    rows = asked(over_http, topic)["reasons"]
    assert [(row["count"], row["reason"]) for row in rows] == [
        (3, "ValueError: no"),
        (1, "Timeout: late"),
    ]
    assert rows[0]["oldest"] <= rows[0]["newest"]
    (row,) = asked(over_http, topic, "/letters", reason="late")["letters"]
    assert (row["partition"], row["offset"]) == (0, 3)
    assert row["origin"] == {"topic": f"{topic}.origin", "partition": 0, "offset": 7}
    assert (row["reason"], row["key"], row["value"]) == ("Timeout: late", "b", "b")
    assert values(over_http, topic, origin="elsewhere") == []
    page = asked(over_http, topic, "/letters", limit=3)
    assert page["next"] == "0-2"
    rest = asked(over_http, topic, "/letters", after=page["next"])
    assert [one["value"] for one in rest["letters"]] == ["b"]
    assert rest["next"] is None


def test_replayed_they_are_back_as_they_were_and_over(
    broker: Broker, over_http: httpx.Client, topic: str
) -> None:
    for value, reason in (("a", "no"), ("b", "late"), ("c", "no")):
        bury(broker, topic, value, reason)
    broker.wait_for(topic, 3)
    told = done(over_http, topic, "replay", reason="late")
    assert told == {"replayed": 1, "gone": 0, "isAll": True}
    (back,) = broker.wait_for(f"{topic}.origin")
    assert (back.partition, back.key, back.value) == (1, b"b", b"b")
    assert dict(back.headers) == {"trace": b"t1"}, "it begins anew"
    assert values(over_http, topic) == ["a", "c"]
    told = done(over_http, topic, "replay", limit=1)
    assert told == {"replayed": 1, "gone": 0, "isAll": False}
    assert values(over_http, topic) == ["c"]
    assert done(over_http, topic, "replay")["replayed"] == 1
    assert done(over_http, topic, "replay") == {"replayed": 0, "gone": 0, "isAll": True}
    assert [one.value for one in broker.records(f"{topic}.origin")] == [b"b", b"a", b"c"]
    assert broker.records(topic) == [], "nothing is kept of what is over"


def test_dropped_ones_are_over_in_the_middle_too(
    broker: Broker, over_http: httpx.Client, topic: str
) -> None:
    for value, reason in (("a", "keep"), ("b", "drop"), ("c", "drop"), ("d", "keep")):
        bury(broker, topic, value, reason)
    broker.wait_for(topic, 4)
    assert done(over_http, topic, "drop", reason="drop") == {
        "dropped": 2,
        "unmarked": 0,
        "isAll": True,
    }
    assert values(over_http, topic) == ["a", "d"]
    assert [row["count"] for row in asked(over_http, topic)["reasons"]] == [2]


def test_records_that_are_no_dead_letters_are_not_dropped_by_mistake(
    broker: Broker, over_http: httpx.Client, topic: str
) -> None:
    broker.produce(topic, "an order", partition=0)
    bury(broker, topic, "a letter", "drop")
    broker.wait_for(topic, 2)
    told = done(over_http, topic, "drop")
    assert (told["dropped"], told["unmarked"]) == (1, 1)
    assert values(over_http, topic) == ["an order"]
    assert done(over_http, topic, "drop", reason="unknown")["dropped"] == 1
    assert values(over_http, topic) == []


def test_what_only_the_origin_has_is_read_there(
    broker: Broker, over_http: httpx.Client, topic: str
) -> None:
    """A share group's letter names its record; one that is gone stays."""
    broker.produce(f"{topic}.origin", "whole", key="k", headers={"h": "x"}, partition=0)
    broker.wait_for(f"{topic}.origin")
    for offset in ("0", "5"):
        facts = {"topic": f"{topic}.origin", "partition": "0", "offset": offset, "message": "often"}
        headers = {f"__dlq.errors.{name}": value for name, value in facts.items()}
        broker.produce(topic, None, headers=headers, partition=0)
    broker.wait_for(topic, 2)
    told = done(over_http, topic, "replay")
    assert told == {"replayed": 1, "gone": 1, "isAll": True}
    back = broker.wait_for(f"{topic}.origin", 2)[1]
    assert (back.key, back.value, dict(back.headers)) == (b"k", b"whole", {"h": b"x"})
    assert len(asked(over_http, topic, "/letters")["letters"]) == 1


def test_what_makes_no_sense_is_refused(
    broker: Broker, over_http: httpx.Client, topic: str
) -> None:
    broker.produce(topic, "nobody's", partition=0)
    broker.wait_for(topic)
    posted = over_http.post
    where = f"/api/v1/dead-letters/{topic}"
    assert posted(f"{where}/replay", json={}).status_code == 409
    assert done(over_http, topic, "replay", to=f"{topic}.origin")["replayed"] == 1
    for body in ({"reasn": "x"}, {"limit": 0}, {"reason": 7}):
        assert posted(f"{where}/drop", json=body).status_code == 400
    assert over_http.get(f"{where}/letters", params={"after": "x"}).status_code == 400
    assert over_http.get("/api/v1/dead-letters/nowhere").status_code == 404
