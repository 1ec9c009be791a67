"""The API over real sockets: shapes, statuses and error codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest

from kafkapy.testing import Broker
from tests.http.pages import HTTP, client_of

RECORD = '{"type":"record","name":"R","fields":[{"name":"x","type":"int"}]}'
V1 = "application/vnd.schemaregistry.v1+json"


@pytest.fixture(scope="module")
def started() -> Iterator[Broker]:
    with Broker(HTTP) as broker:
        yield broker


@pytest.fixture(scope="module")
def http(started: Broker) -> Iterator[httpx.Client]:
    with client_of(started) as client:
        yield client


def register(http: httpx.Client, subject: str, schema: str = RECORD, **more: Any) -> int:
    answer = http.post(f"/subjects/{subject}/versions", json={"schema": schema, **more})
    assert answer.status_code == 200, answer.text
    return int(answer.json()["id"])


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/subjects/none/versions", None, 404, 40401),
        ("GET", "/subjects/none/versions/1", None, 404, 40401),
        ("GET", "/subjects/there/versions/9", None, 404, 40402),
        ("GET", "/subjects/there/versions/0", None, 422, 42202),
        ("GET", "/subjects/there/versions/first", None, 422, 42202),
        ("GET", "/schemas/ids/999999", None, 404, 40403),
        ("GET", "/schemas/ids/none", None, 404, 40403),
        ("GET", "/schemas/guids/none", None, 404, 40403),
        ("POST", "/subjects/there", {"schema": '"string"'}, 404, 40403),
        ("POST", "/subjects/none", {"schema": '"string"'}, 404, 40401),
        ("POST", "/subjects/there/versions", {"schema": "nonsense"}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": ""}, 200, None),
        ("POST", "/subjects/new/versions", {"schema": ""}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": "1", "schemaType": "XML"}, 422, 42201),
        ("POST", "/subjects/there/versions", {"schema": '"string"'}, 409, 409),
        ("POST", "/subjects/there/versions", {"schema": '"string"', "id": 9}, 422, 42205),
        ("POST", "/subjects/there/versions", {"schema": 1}, 422, 422),
        ("POST", "/subjects/there/versions", {"schema": "x" * 1_000_000}, 422, 42209),
        ("POST", "/subjects/:.__GLOBAL:x/versions", {"schema": RECORD}, 422, 42208),
        ("POST", "/subjects/a%00b/versions", {"schema": RECORD}, 422, 42208),
        (
            "POST",
            "/subjects/there/versions",
            {"schema": RECORD, "ruleSet": {"domainRules": [{"name": "r", "mode": "UPGRADE"}]}},
            422,
            42210,
        ),
        ("DELETE", "/subjects/none", None, 404, 40401),
        ("DELETE", "/subjects/there?permanent=true", None, 404, 40405),
        ("DELETE", "/subjects/there/versions/1?permanent=true", None, 404, 40407),
        ("GET", "/config/there", None, 404, 40408),
        ("GET", "/mode/there", None, 404, 40409),
        ("DELETE", "/config/there", None, 404, 40401),
        ("DELETE", "/mode/there", None, 404, 40401),
        ("PUT", "/config", {"compatibility": "SOME"}, 422, 42203),
        ("PUT", "/mode", {"mode": "SOME"}, 422, 42204),
        ("PUT", "/mode/there", {"mode": "IMPORT"}, 422, 42205),
        ("POST", "/compatibility/subjects/there/versions/9", {"schema": RECORD}, 404, 40402),
        ("POST", "/compatibility/subjects/there/versions/1", {"schema": "{"}, 422, 42201),
        ("GET", "/subjects/there/nothing", None, 404, 404),
        ("PUT", "/subjects/there", None, 405, 405),
    ],
)
def test_a_refusal_has_confluents_status_and_code(
    http: httpx.Client, method: str, path: str, body: Any, status: int, code: int | None
) -> None:
    register(http, "there")
    answer = http.request(method, path, json=body)
    assert (answer.status_code, answer.json().get("error_code")) == (status, code), answer.text
    assert answer.headers["content-type"] == V1


def test_a_body_that_is_no_object_of_text_is_refused(http: httpx.Client) -> None:
    for raw in (b"", b"nonsense", b"[]", b'{"schema":"\\ud800"}', b"[" * 100_000):
        answer = http.post("/subjects/raw/versions", content=raw)
        assert answer.status_code == 422, raw[:20]
        assert answer.json()["error_code"] == 422


def test_the_same_schema_is_told_by_id_guid_subject_and_version(http: httpx.Client) -> None:
    schema_id = register(http, "told")
    told = http.get("/subjects/told/versions/latest").json()
    assert told["id"] == schema_id
    assert told["schema"] == RECORD
    assert told["schemaType"] == "AVRO"
    assert told["deleted"] is False
    assert told["ts"] > 0
    assert http.get("/subjects/told/versions/1").json() == told
    assert http.get("/subjects/told/versions/-1").json() == told
    assert http.get("/subjects/told/versions/1/schema").text == RECORD
    assert http.get(f"/schemas/ids/{schema_id}").json()["schema"] == RECORD
    assert http.get(f"/schemas/ids/{schema_id}/schema").text == RECORD
    assert http.get(f"/schemas/ids/{schema_id}?fetchMaxId=true").json()["maxId"] >= schema_id
    assert "told" in http.get(f"/schemas/ids/{schema_id}/subjects").json()
    versions = http.get(f"/schemas/ids/{schema_id}/versions").json()
    assert {"subject": "told", "version": 1} in versions
    assert http.get(f"/schemas/guids/{told['guid']}").json()["schema"] == RECORD
    ids = http.get(f"/schemas/guids/{told['guid']}/ids").json()
    assert ids == [{"context": ".", "id": schema_id}]
    looked_up = http.post("/subjects/told", json={"schema": RECORD}).json()
    assert looked_up == told
    spaced = json.dumps(json.loads(RECORD), indent=2)
    assert http.post("/subjects/told", json={"schema": spaced}).json() == told
    assert http.get("/schemas/types").json() == ["AVRO", "JSON", "PROTOBUF"]
    listed = http.get("/schemas?subjectPrefix=told&latestOnly=true").json()
    assert listed == [told]


def test_lists_come_in_pages_and_by_prefix(http: httpx.Client) -> None:
    for name in ("page-1", "page-2", "page-3", ":.paged:page-4"):
        register(http, name)
    names = http.get("/subjects?subjectPrefix=page-").json()
    assert names == ["page-1", "page-2", "page-3"]
    assert http.get("/subjects?subjectPrefix=page-&offset=1&limit=1").json() == ["page-2"]
    assert http.get("/subjects?subjectPrefix=:.paged:").json() == [":.paged:page-4"]
    assert {*names, ":.paged:page-4"} <= set(http.get("/subjects").json())
    assert ".paged" in http.get("/contexts").json()
    http.delete("/subjects/page-2")
    assert http.get("/subjects?subjectPrefix=page-").json() == ["page-1", "page-3"]
    assert http.get("/subjects?subjectPrefix=page-&deletedOnly=true").json() == ["page-2"]
    assert http.get("/subjects?offset=x").status_code == 422


def test_a_slash_in_a_subject_is_sent_encoded(http: httpx.Client) -> None:
    register(http, "with%2Fslash")
    assert http.get("/subjects/with%2Fslash/versions").json() == [1]
    assert "with/slash" in http.get("/subjects").json()


def test_modes_and_configurations_are_told_as_they_were_set(http: httpx.Client) -> None:
    register(http, "set")
    assert http.get("/config/set?defaultToGlobal=true").json() == {"compatibilityLevel": "BACKWARD"}
    body = {"compatibility": "full", "normalize": True, "compatibilityGroup": "major"}
    wanted = {"compatibility": "FULL", "normalize": True, "compatibilityGroup": "major"}
    assert http.put("/config/set", json=body).json() == wanted
    told = {"compatibilityLevel": "FULL", "normalize": True, "compatibilityGroup": "major"}
    assert http.get("/config/set").json() == told
    assert http.put("/config/set", json={"normalize": None}).json()["compatibility"] == "FULL"
    assert "normalize" not in http.get("/config/set").json()
    assert http.delete("/config/set").json()["compatibilityLevel"] == "FULL"
    assert http.get("/config/set").status_code == 404
    assert http.put("/mode/set", json={"mode": "READONLY"}).json() == {"mode": "READONLY"}
    refused = http.post("/subjects/set/versions", json={"schema": '"int"'})
    assert refused.json()["error_code"] == 42205
    assert http.delete("/mode/set").json() == {"mode": "READONLY"}
    assert http.get("/mode").json() == {"mode": "READWRITE"}


def test_an_alias_is_read_as_the_subject_it_stands_for(http: httpx.Client) -> None:
    register(http, "aliased")
    http.put("/config/nickname", json={"alias": "aliased"})
    assert http.get("/subjects/nickname/versions/1").json()["subject"] == "aliased"


def test_metadata_finds_the_newest_version_that_has_it(http: httpx.Client) -> None:
    newer = '{"type":"record","name":"R","fields":[]}'
    register(http, "meta", metadata={"properties": {"stage": "old"}})
    register(http, "meta", newer, metadata={"properties": {"stage": "new"}})
    path = "/subjects/meta/metadata?key=stage&value="
    assert http.get(f"{path}old").json()["version"] == 1
    assert http.get(f"{path}new").json()["version"] == 2
    assert http.get(f"{path}none").json()["error_code"] == 40403


def test_media_types_are_those_that_clients_ask_for(http: httpx.Client) -> None:
    for accepted in (V1, "application/vnd.schemaregistry+json", "application/json"):
        answer = http.get("/subjects", headers={"accept": accepted})
        assert answer.headers["content-type"] == accepted


def test_a_topic_is_bound_to_no_subject(http: httpx.Client) -> None:
    for path in ("resources/-/orders?resourceType=topic", "subjects/x", "resources/some-id"):
        assert http.get(f"/associations/{path}").json() == []


def test_what_another_registry_wrote_is_found_by_what_it_means(
    started: Broker, http: httpx.Client
) -> None:
    """Confluent's keeps the names in Protobuf as they were written, and not as protoc has them."""
    register(http, "any")
    text = 'syntax = "proto3";\npackage q;\n\nmessage M {\n  N n = 1;\n}\nmessage N {}\n'
    key = {"keytype": "SCHEMA", "subject": "foreign", "version": 4, "magic": 1}
    value = {
        "subject": "foreign",
        "version": 4,
        "id": 70,
        "schemaType": "PROTOBUF",
        "schema": text,
        "deleted": False,
    }
    started.produce("_schemas", json.dumps(value).encode(), key=json.dumps(key).encode())
    started.produce("_schemas", b"garbage", key=b"garbage")
    sent = 'syntax = "proto3"; package q; message M { N n = 1; } message N {}'
    answer = http.post(
        "/subjects/foreign/versions", json={"schema": sent, "schemaType": "PROTOBUF"}
    )
    assert (answer.json()["id"], answer.json()["version"]) == (70, 4), answer.text
    assert http.get("/schemas/ids/70").json()["schema"] == text
    assert register(http, "after", '"bytes"') == 71


def test_registering_cannot_be_forced_past_the_comparison(http: httpx.Client) -> None:
    register(http, "unforced", '"string"')
    answer = http.post("/subjects/unforced/versions?force=true", json={"schema": '"int"'})
    assert (answer.status_code, answer.json()["error_code"]) == (409, 409)
    assert http.get("/subjects/unforced/versions").json() == [1]


def properties(*names: str) -> str:
    return json.dumps({"type": "object", "properties": {name: {} for name in names}})


RESERVING = {
    "AVRO": (RECORD, "x", "y"),
    "JSON": (properties("x"), "x", "y"),
    "PROTOBUF": (
        'syntax = "proto3"; message A { int32 z = 1; message B { int32 y = 1; } }'
        "message M { optional int32 x = 1; oneof o { int32 y = 2; } }",
        "x",
        "y",
    ),
}


@pytest.mark.parametrize("language", list(RESERVING))
def test_names_that_metadata_reserves_are_kept_free_where_fields_are_validated(
    http: httpx.Client, language: str
) -> None:
    """By Confluent's `confluent:reserved`: nothing is asked of it before validateFields is set."""
    schema, taken, free = RESERVING[language]
    path = f"/subjects/reserving-{language}/versions"

    def post(page: str, reserved: str) -> httpx.Response:
        metadata = {"properties": {"confluent:reserved": reserved}}
        return http.post(
            page, json={"schemaType": language, "schema": schema, "metadata": metadata}
        )

    assert post(path, f"{taken},{free}").status_code == 200
    settings = {"validateFields": True, "compatibility": "NONE"}
    assert http.put(f"/config/reserving-{language}", json=settings).status_code == 200
    assert http.get(f"/config/reserving-{language}").json()["validateFields"] is True
    for reserved, kind in (
        (f"{taken},{free},more", "FIELD_CONFLICTS_WITH_RESERVED_FIELD"),
        (taken, "RESERVED_FIELD_REMOVED"),
    ):
        answer = post(path, reserved)
        assert (answer.status_code, answer.json()["error_code"]) == (409, 409)
        assert kind in answer.json()["message"]
        compared = post(f"/compatibility{path}/latest?verbose=true", reserved).json()
        assert not compared["is_compatible"]
        assert kind in str(compared["messages"])
    other = f"/subjects/reserving-{language}-2/versions"
    http.put(f"/config/reserving-{language}-2", json={"validateFields": True})
    assert post(other, free).status_code == 200
    assert post(other, f" {free} , other").status_code == 200
    assert post(other, "other").status_code == 409


def test_where_fields_are_validated_no_property_begins_with_two_dollars(
    http: httpx.Client,
) -> None:
    path = "/subjects/dollars/versions"
    body = {"schemaType": "JSON", "schema": properties("$$a")}
    http.put("/config/dollars", json={"validateFields": True})
    refused = http.post(path, json=body)
    assert (refused.status_code, refused.json()["error_code"]) == (422, 42201)
    http.put("/config/dollars", json={"validateFields": False})
    assert http.post(path, json=body).status_code == 200


def test_one_version_of_another_group_is_not_compared(http: httpx.Client) -> None:
    """As when registering: compatibilityGroup says which versions belong together."""
    http.put("/config/grouped", json={"compatibilityGroup": "major"})
    one, two = ({"properties": {"major": major}} for major in "12")
    register(http, "grouped", '"string"', metadata=one)
    for metadata, is_compatible in ((one, False), (two, True)):
        for page in ("versions", "versions/1", "versions/latest"):
            answer = http.post(
                f"/compatibility/subjects/grouped/{page}",
                json={"schema": '"int"', "metadata": metadata},
            )
            assert answer.json() == {"is_compatible": is_compatible}, page
