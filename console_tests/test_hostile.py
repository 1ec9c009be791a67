"""Names, keys, values, headers and schemas that would like to be markup or script."""

import json
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from confluent_kafka import Consumer, Producer
from playwright.sync_api import Browser, expect

from console_tests.seen import looking
from kafkapy.core.ids import TopicPartition
from kafkapy.http.kafka import groups, records
from kafkapy.http.kafka.client import Kafka
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker
from tests.http.console.test_groups import SECURED
from tests.http.pages import client_of, with_kafka

# Out of an attribute, out of text, out of a script, and a template of the server's.
_EVIL = """'"></script><img src=x onerror="document.title='owned'"><svg onload=alert(1)>{{7*7}}"""


@pytest.fixture(scope="module")
def broker(chromium: Browser) -> Iterator[Broker]:
    with Broker(SECURED) as started:
        yield started


async def _write(kafka: Kafka) -> None:
    evil = _EVIL.encode()
    value = json.dumps({_EVIL: _EVIL}).encode()
    headers = ((_EVIL, evil), ("plain", evil))
    some = [NewRecord(evil, value, 1000, headers), NewRecord(evil, evil, 1000, headers)]
    await records.produce(kafka, "victim", 0, some)
    await groups.commit(kafka, _EVIL, {TopicPartition("victim", 0): 1})


def _posted(broker: Broker) -> None:
    """What the console itself takes: principals, users, quotas, subjects, settings."""
    schema = {"type": "record", "name": "A", "doc": _EVIL, "fields": []}
    forms = (
        ("/console/acls/add", {
            "principal": f"User:{_EVIL}", "resource": "TOPIC", "name": _EVIL, "pattern": "LITERAL",
            "operation": "READ", "permission": "ALLOW",
        }),
        ("/console/users/add", {
            "user": _EVIL, "mechanism": "SCRAM-SHA-256", "password": "x", "again": "x",
        }),
        ("/console/quotas/change", {
            "user-is": "name", "user": _EVIL, "producer_byte_rate": "1000",
        }),
        ("/console/schema/register", {
            "subject": _EVIL, "type": "AVRO", "schema": json.dumps(schema),
        }),
    )  # fmt: skip
    with client_of(broker, headers={"origin": broker.http}, follow_redirects=True) as client:
        for path, fields in forms:
            answer = client.post(path, data=fields)
            assert answer.status_code == 200, answer.text


def test_what_others_have_written_is_text(chromium: Browser, broker: Broker) -> None:
    broker.create_topic("victim")
    with_kafka(broker, _write)
    _posted(broker)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": _EVIL})
    producer.init_transactions(30)
    member = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": f"{_EVIL}2", "client.id": _EVIL}
    )
    member.subscribe(["victim"])
    while not member.assignment():
        member.poll(0.2)
    name, second = urlencode({"name": _EVIL}), urlencode({"name": f"{_EVIL}2"})
    query = urlencode({"q": _EVIL})
    of_acl = {"principal": f"User:{_EVIL}", "resource": "TOPIC", "name": _EVIL}
    pages = (
        "/console/topics/victim/messages",
        f"/console/topics/victim/messages?{query}&{urlencode({'where': _EVIL})}",
        "/console/topics/victim/messages/0/0",
        "/console/topics/victim/messages/0/1?as=text",
        "/console/groups",
        f"/console/group?{name}",
        f"/console/group?{second}",
        f"/console/group/reset?{name}&to=earliest",
        f"/console/group/settings?{name}",
        f"/console/group/delete?{name}",
        "/console/transactions",
        f"/console/transaction?{urlencode({'id': _EVIL})}",
        "/console/schemas",
        f"/console/schema?{urlencode({'subject': _EVIL})}",
        f"/console/schema/check?{urlencode({'subject': _EVIL})}",
        "/console/acls",
        f"/console/acls/add?{urlencode(of_acl)}&operation=READ&pattern=LITERAL&permission=ALLOW",
        "/console/users",
        f"/console/users/remove?{urlencode({'user': _EVIL, 'mechanism': _EVIL})}",
        "/console/quotas",
        f"/console/quotas/change?user-is=name&{urlencode({'user': _EVIL})}",
        "/console/alerts",
        "/console/logs",
        f"/console/topics?{query}",
        f"/console/relays?{query}",
        f"/console/create-topic?{urlencode({'configs': _EVIL})}",
        f"/console/topics/{urlencode({'': _EVIL})[1:]}",
        f"/?{urlencode({'done': _EVIL})}",
    )
    shown = 0
    with looking(chromium, broker.http) as seen:
        for path in pages:
            page = seen.go(path)
            expect(page.locator("h1")).to_be_visible()
            shown += "onerror" in page.content()
            assert "owned" not in page.title().replace(_EVIL, ""), path
            assert page.locator("img[src=x], svg[onload], main script").count() == 0, path
            assert "49" not in page.title(), path
        # What a browser itself says of a page that is not there.
        seen.complaints = [one for one in seen.complaints if "status of 40" not in one]
    assert shown > 15, "it was there to be seen"
    member.close()


def test_records_that_are_followed_are_text(chromium: Browser, broker: Broker) -> None:
    broker.create_topic("followed")

    async def write(kafka: Kafka) -> None:
        some = [NewRecord(_EVIL.encode(), _EVIL.encode(), 1000)]
        await records.produce(kafka, "followed", 0, some)

    with looking(chromium, broker.http) as seen:
        page = seen.go("/console/topics/followed/messages")
        page.get_by_role("button", name="Follow live").click()
        expect(page.locator("#said")).to_have_text("Following: 0 since then.")
        with_kafka(broker, write)
        expect(page.locator("#records tr").first).to_contain_text("<img src=x")
        assert page.locator("#records img").count() == 0


def test_a_page_of_somebody_elses_can_neither_send_forms_nor_frame(
    chromium: Browser, broker: Broker
) -> None:
    """From another origin (localhost is one, beside 127.0.0.1)."""
    elsewhere = broker.http.replace("127.0.0.1", "localhost") + "/health/live"
    page = chromium.new_page()
    page.goto(elsewhere)
    page.set_content(
        f"""<form method="post" action="{broker.http}/console/create-topic">
        <input name="name" value="forged"><button>Go</button></form>"""
    )
    page.get_by_role("button").click()
    page.wait_for_url(f"{broker.http}/**")
    expect(page.get_by_text("of another origin asks")).to_be_visible()
    page.goto(elsewhere)
    page.set_content(f'<iframe src="{broker.http}/console/topics"></iframe>')
    # What is there instead is the browser's own page, which says that it may not be shown.
    expect(page.frame_locator("iframe").get_by_text("refused to connect").last).to_be_visible()
    expect(page.frame_locator("iframe").locator("header, main")).to_have_count(0)
    page.close()
    with client_of(broker) as client:
        assert client.get("/console/topics/forged").status_code == 404
