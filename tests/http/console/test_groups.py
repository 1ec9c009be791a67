"""Groups and transactions in the console, and what is refused to whom."""

import html
import re
import shlex
import time

import pytest
from starlette.requests import HTTPConnection
from starlette.testclient import TestClient

from kafkapy.cli.main import command_parser
from kafkapy.core.ids import TopicPartition
from kafkapy.http.app import make_app
from kafkapy.http.kafka import groups
from kafkapy.http.kafka.client import TRANSACTION, Kafka
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.records import NewRecord
from kafkapy.testing import Broker
from tests.http.console.filling import OWN, produced
from tests.http.pages import HTTP, site_of, with_kafka

ACL = {
    "principal": "User:mallory",
    "resource": "TOPIC",
    "name": "guarded",
    "pattern": "LITERAL",
    "operation": "ALL",
    "permission": "ALLOW",
}
USER = {"user": "mallory", "mechanism": "SCRAM-SHA-512"}
SECURED = {
    **HTTP,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def _behind(broker: Broker, topic: str, group: str) -> None:
    """Two partitions of ten records, read to 4 and to the end."""
    broker.create_topic(topic, partitions=2)
    for partition in range(2):
        some = [NewRecord(None, b"%d" % one, one * 1000) for one in range(10)]
        produced(broker, topic, some, partition=partition)

    async def work(kafka: Kafka) -> None:
        await groups.commit(
            kafka, group, {TopicPartition(topic, 0): 4, TopicPartition(topic, 1): 10}
        )

    with_kafka(broker, work)


def _previewed(text: str) -> list[str]:
    return re.findall(r'name="at" value="([^"]+)"', text)


def _committed(broker: Broker, group: str) -> list[int]:
    async def work(kafka: Kafka) -> list[int]:
        return [one for _, one in sorted((await groups.committed(kafka, group)).items())]

    return with_kafka(broker, work)


def test_a_group_shows_how_far_behind_it_is(pages: TestClient, broker: Broker) -> None:
    _behind(broker, "lagging", "the/slow & one")
    row = pages.get("/console/groups?q=slow").text
    assert "the/slow &amp; one" in row
    assert '<td class="num">6</td>' in row
    text = pages.get("/console/group", params={"name": "the/slow & one"}).text
    assert "Nobody reads: the group has no members, and 6 records wait" in text
    assert 'value="6"></meter>' in text
    # The record at 4 is of second 4 since 1970; the other partition is at its end.
    ages = re.findall(r'</meter></td><td class="num">([^<]+)</td>', text)
    assert ages[1] == "–"  # noqa: RUF001 - as pages write it
    days = float(ages[0].removesuffix(" d"))
    assert days == pytest.approx(time.time() / 86_400, abs=1)


def test_a_group_that_stands_before_a_record_is_told_which(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a member, that reads and never gets past offset 4."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    monkeypatch.setattr("kafkapy.http.console.pages.groups._STANDS_MS", 0)
    _behind(broker, "standing", "stands")
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "stands",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["standing"])
    assert consumer.poll(30) is not None
    site = site_of(broker)

    async def look(kafka: Kafka) -> None:
        await site.lag.look(kafka.link)

    with TestClient(make_app(site), "http://127.0.0.1", backend="trio") as pages:
        assert "has stood" not in pages.get("/console/group?name=stands").text
        with_kafka(broker, look)
        text = pages.get("/console/group?name=stands").text
    consumer.close()
    assert "has stood at one offset" in text
    assert "/console/topics/standing/messages?partition=0&amp;from=offset&amp;offset=4" in text


def test_a_group_that_has_never_got_on_leads_to_the_first_record_that_waits(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    confluent_kafka = pytest.importorskip("confluent_kafka")
    monkeypatch.setattr("kafkapy.http.console.pages.groups._STANDS_MS", 0)
    broker.create_topic("never")
    broker.produce("never", b"before")
    settings = {"auto.offset.reset": "earliest", "enable.auto.commit": False}
    address = {"bootstrap.servers": broker.bootstrap, "group.id": "never"}
    consumer = confluent_kafka.Consumer({**address, **settings})
    consumer.subscribe(["never"])
    assert consumer.poll(30) is not None
    site = site_of(broker)

    async def look(kafka: Kafka) -> None:
        await site.lag.look(kafka.link)
        broker.produce("never", b"since")
        await site.lag.look(kafka.link)

    with_kafka(broker, look)
    with TestClient(make_app(site), "http://127.0.0.1", backend="trio") as pages:
        text = pages.get("/console/group?name=never").text
    consumer.close()
    assert "/console/topics/never/messages?partition=0&amp;from=offset&amp;offset=1" in text


@pytest.mark.parametrize(
    ("how", "previewed"),
    [
        ({"to": "earliest"}, ["0 0", "1 0"]),
        ({"to": "latest"}, ["0 10", "1 10"]),
        ({"to": "time", "time": "1970-01-01T00:00:03"}, ["0 3", "1 3"]),
        ({"to": "time", "time": "2100-01-01T00:00"}, ["0 10", "1 10"]),
        ({"to": "offset", "offset": "7"}, ["0 7", "1 7"]),
        ({"to": "shift", "shift": "-3"}, ["0 1", "1 7"]),
        ({"to": "shift", "shift": "100"}, ["0 10", "1 10"]),
    ],
)
def test_a_reset_is_shown_then_done(
    pages: TestClient, broker: Broker, how: dict[str, str], previewed: list[str]
) -> None:
    name = "reset-" + "-".join(how.values()).replace(":", "")
    _behind(broker, name, name)
    text = pages.get("/console/group/reset", params={"name": name, **how}).text
    rows = _previewed(text)
    assert rows == [f"{one} {name}" for one in previewed]
    assert _committed(broker, name) == [4, 10], "nothing is done before it is confirmed"
    done = pages.post("/console/group/reset", data={"name": name, "at": rows}, headers=OWN)
    assert "offsets are changed" in done.text, done.text
    assert _committed(broker, name) == [int(one.split()[1]) for one in previewed]


def test_a_reset_that_says_nothing_useful_is_not_done(pages: TestClient, broker: Broker) -> None:
    _behind(broker, "unclear", "unclear")
    for how in ({"to": "time", "time": "yesterday"}, {"to": "shift"}, {"to": "moon"}):
        text = pages.get("/console/group/reset", params={"name": "unclear", **how}).text
        assert 'role="alert"' in text
        assert _previewed(text) == []
    empty = pages.post("/console/group/reset", data={"name": "unclear"}, headers=OWN)
    assert empty.status_code == 400
    row = {"name": "unclear", "at": "0 0 unclear"}
    assert pages.post("/console/group/reset", data=row).status_code == 403
    assert _committed(broker, "unclear") == [4, 10]


def test_a_group_is_deleted(pages: TestClient, broker: Broker) -> None:
    _behind(broker, "leaving", "leaving")
    gone = pages.post("/console/group/delete", data={"name": "leaving"}, headers=OWN)
    assert "The group is deleted" in gone.text
    assert _committed(broker, "leaving") == []


def test_an_open_transaction_comes_first_says_where_and_is_ended(
    pages: TestClient, broker: Broker
) -> None:
    broker.create_topic("in-doubt")

    async def work(kafka: Kafka) -> None:
        asked = {"transactional_id": "stuck one", "transaction_timeout": 60_000}
        given = await kafka.ask_coordinator(
            "stuck one",
            ApiKey.INIT_PRODUCER_ID,
            {**asked, "producer_id": -1, "producer_epoch": -1},
            lambda one: int(one.error_code),
            TRANSACTION,
        )
        body = {
            "v3_and_below_transactional_id": "stuck one",
            "v3_and_below_producer_id": given.producer_id,
            "v3_and_below_producer_epoch": given.producer_epoch,
            "v3_and_below_topics": [{"name": "in-doubt", "partitions": [0]}],
        }
        answer = await kafka.ask(ApiKey.ADD_PARTITIONS_TO_TXN, body, version=3)
        assert (
            not answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        )

    with_kafka(broker, work)
    listed = pages.get("/console/transactions?q=STUCK").text
    assert "1 open" in listed
    assert "Ongoing" in listed
    one = pages.get("/console/transaction", params={"id": "stuck one"}).text
    assert "in-doubt-0" in one
    assert pages.get("/console/transaction?id=nobodys").status_code == 404
    form = {"id": "stuck one"}
    assert pages.post("/console/transaction/end", data=form).status_code == 403
    ended = pages.post("/console/transaction/end", data=form, headers=OWN)
    assert "The transaction is aborted" in ended.text, ended.text
    assert "0 open" in pages.get("/console/transactions?q=STUCK").text
    again = pages.post("/console/transaction/end", data=form, headers=OWN)
    assert again.status_code == 409
    assert "no transaction that is open" in again.text


def test_alerts_and_health_are_of_the_node(pages: TestClient, broker: Broker) -> None:
    _behind(broker, "slow", "slow")
    text = pages.get("/console/alerts").text
    assert "Health of this node" in text
    assert "None is pending or firing" in text
    assert "no leader" in text


def test_the_node_tells_what_it_has_said(pages: TestClient, broker: Broker) -> None:
    journal = site_of(broker).link.node.journal
    journal.warning("a hat fell", where="<b>here</b>", trace="line one\nline two")
    journal.info("it was picked up")
    text = pages.get("/console/logs").text
    assert text.index("it was picked up") < text.index("a hat fell"), "the newest first"
    assert "&lt;b&gt;here&lt;/b&gt;" in text
    warnings = pages.get("/console/logs?level=warning").text
    assert "a hat fell" in warnings
    assert "picked up" not in warnings
    assert "a hat fell" in pages.get("/console/logs?q=HERE").text
    assert "Nothing like that" in pages.get("/console/logs?q=there-is-none").text
    assert pages.get("/console/logs?level=loud").status_code == 400


def test_access_is_read(pages: TestClient) -> None:
    assert "everybody may do everything" in pages.get("/console/acls").text
    assert "no credentials" in pages.get("/console/users").text
    assert "no quotas" in pages.get("/console/quotas").text


@pytest.fixture
def as_mallory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks over HTTP is a user without rights."""

    def name(request: HTTPConnection) -> str:
        return "User:mallory"

    monkeypatch.setattr("kafkapy.http.site.principal_of", name)
    monkeypatch.setattr("kafkapy.http.console.asked.principal_of", name)


def test_who_has_no_right_sees_nothing_and_is_told_which(as_mallory: None) -> None:
    with Broker(SECURED) as broker:
        _behind(broker, "guarded", "guarded")
        site = site_of(broker)
        with TestClient(make_app(site), "http://127.0.0.1", backend="trio") as pages:
            assert "<strong>DESCRIBE</strong> on <strong>CLUSTER</strong>" in pages.get("/").text
            assert "guarded" not in pages.get("/console/topics").text
            assert "guarded" not in pages.get("/console/groups").text
            topic = "/console/topics/guarded"
            for path in (
                "",
                "/messages",
                "/messages/0/0",
                "/produce",
                "/settings",
                "/tail",
                "/delete",
            ):
                answer = pages.get(topic + path)
                assert answer.status_code == 403, path
                assert "DESCRIBE" in answer.text
            absent = pages.get("/console/topics/absent")
            assert absent.status_code == 403, "nobody is told which topics there are"
            group = pages.get("/console/group?name=guarded")
            assert group.status_code == 403
            assert "<strong>DESCRIBE</strong> on <strong>GROUP</strong>" in group.text
            for path in (
                "/console/acls",
                "/console/users",
                "/console/quotas",
                "/console/alerts",
                "/console/logs",
            ):
                assert pages.get(path).status_code == 403, path
            forms = (
                (f"{topic}/delete", {"confirm": "guarded"}),
                (f"{topic}/produce", {"value": "x"}),
                (f"{topic}/partitions", {"count": "9"}),
                (f"{topic}/settings/retention.ms", {"value": "1"}),
                ("/console/create-topic", {"name": "new"}),
                ("/console/group/delete", {"name": "guarded"}),
                ("/console/group/reset", {"name": "guarded", "at": "0 0 guarded"}),
                (
                    "/console/group/setting?name=guarded&key=share.session.timeout.ms",
                    {"value": "1"},
                ),
                ("/console/brokers/1/settings/log.cleaner.threads", {"value": "2"}),
                ("/console/transaction/end", {"id": "guarded"}),
                ("/console/acls/add", ACL),
                ("/console/acls/remove", ACL),
                ("/console/users/add", {**USER, "password": "x", "again": "x"}),
                ("/console/users/remove", USER),
                ("/console/quotas/change", {"user-is": "default", "producer_byte_rate": "1"}),
            )
            for path, fields in forms:
                answer = pages.post(path, data=fields, headers=OWN)
                assert answer.status_code == 403, path
                assert "who has no such right" in answer.text, path
                words = shlex.split(
                    html.unescape(answer.text.split("kafkapy acls add")[1].split("</pre>")[0])
                )
                given = ["acls", "add", *words]
                assert command_parser({"acls"}).parse_args(given).allow == ["User:mallory"]
        assert _committed(broker, "guarded") == [4, 10]
        assert len(site.link.image.topics_by_name["guarded"].partitions) == 2
        assert "new" not in site.link.image.topics_by_name
