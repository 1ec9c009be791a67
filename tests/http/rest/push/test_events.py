"""A group's messages as server-sent events, and commits beside them."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx

from kafkapy.testing import Broker

GROUPS = "/api/v1/consumer-groups"


def events(answer: httpx.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = "message"
    for line in answer.iter_lines():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))
            kind = "message"


def test_what_is_done_is_committed_by_the_members_name(
    broker: Broker, over_http: httpx.Client
) -> None:
    broker.create_topic("named")
    for n in range(3):
        broker.produce("named", str(n).encode())
    path, member = f"{GROUPS}/named/stream", {}
    with over_http.stream("GET", path, params={"topics": "named", "offset": "earliest"}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        # An iterator that is let go closes the connection, and the member has left.
        heard = events(answer)
        for kind, told in heard:
            if kind == "member":
                member = {key: told[key] for key in ("memberId", "memberEpoch")}
            elif told["offset"] == 2:
                break
        done = {"offsets": [{"topic": "named", "partition": 0, "offset": 2}]}
        refused = over_http.post(f"{GROUPS}/named/offsets", json=done)
        assert refused.status_code == 409, "a group with members commits for itself"
        answer_to_commit = over_http.post(f"{GROUPS}/named/offsets", json={**done, **member})
        assert answer_to_commit.status_code == 200, answer_to_commit.text
    assert broker.lag("named", "named") == 1


def test_a_shell_script_need_not_commit(broker: Broker, over_http: httpx.Client) -> None:
    """What the socket has taken counts as done, once the next is asked for."""
    broker.create_topic("auto")
    broker.produce("auto", b"0")
    query = {"topics": "auto", "offset": "earliest", "ack": "auto"}
    with over_http.stream("GET", f"{GROUPS}/auto/stream", params=query) as answer:
        for kind, told in events(answer):
            if kind == "message" and told["offset"] == 0:
                broker.produce("auto", b"1")
            elif kind == "message":
                break
    with over_http.stream("GET", f"{GROUPS}/auto/stream", params=query) as answer:
        broker.produce("auto", b"2")
        offsets = (told["offset"] for kind, told in events(answer) if kind == "message")
        assert next(offsets) in (1, 2), "0 was committed before 1 was fetched"
