"""Every page of the console, as somebody with a browser meets it."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from console_tests.filling import YESTERDAY_MS
from console_tests.seen import Seen, picture

_ACL = (
    "principal=User:carol&resource=TOPIC&name=team-0&pattern=PREFIXED"
    "&operation=READ&permission=ALLOW"
)
_PAGES = {
    "overview": "/",
    "broker": "/console/brokers/2?all=1",
    "topics": "/console/topics",
    "search": "/console/topics?q=team-0",
    "create": "/console/create-topic",
    "topic": "/console/topics/orders",
    "broker-setting": "/console/brokers/2/settings/log.cleaner.threads",
    "relays": "/console/relays",
    "view": "/console/topics/orders.large",
    "retry": "/console/topics/orders.retry",
    "workers": "/console/group?name=workers",
    "group-settings": "/console/group/settings?name=workers&all=1",
    "group-setting": "/console/group/setting?name=workers&key=share.record.lock.duration.ms",
    "share-reset": "/console/group/reset?name=workers&to=earliest",
    "settings": "/console/topics/orders/settings?all=1",
    "setting": "/console/topics/orders/settings/retention.ms",
    "messages": "/console/topics/orders/messages?limit=20",
    "message": "/console/topics/orders/messages/2/40",
    "picture": "/console/topics/pictures/messages/0/0",
    "produce": "/console/topics/orders/produce",
    "delete": "/console/topics/orders/delete",
    "groups": "/console/groups",
    "group": "/console/group?name=billing",
    "reset": "/console/group/reset?name=billing&to=earliest",
    "transactions": "/console/transactions",
    "transaction": "/console/transaction?id=invoices-1",
    "schemas": "/console/schemas",
    "schema": "/console/schema?subject=parcels-value",
    "diff": "/console/schema/diff?subject=parcels-value",
    "draft": "/console/schema/check?subject=parcels-value",
    "delete-schema": "/console/schema/delete?subject=parcels-value",
    "parcels": "/console/topics/parcels/messages",
    "parcel": "/console/topics/parcels/messages/0/2",
    "acls": "/console/acls",
    "add-acl": f"/console/acls/add?{_ACL}",
    "remove-acl": f"/console/acls/remove?{_ACL}",
    "add-user": "/console/users/add",
    "remove-user": "/console/users/remove?user=carol&mechanism=SCRAM-SHA-256",
    "quota": "/console/quotas/change?user-is=name&user=carol&producer_byte_rate=1e6&preview=1",
    "logs": "/console/logs",
    "users": "/console/users",
    "quotas": "/console/quotas",
    "alerts": "/console/alerts",
    "problem": "/console/topics/absent",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_there_and_axe_finds_no_serious_fault(
    seen: Seen, axe: str | None, scheme: Literal["light", "dark"]
) -> None:
    if axe is None:
        pytest.skip("axe-core is not here, nor npm to get it")
    seen.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    faults = []
    for name, path in _PAGES.items():
        page = seen.go(path)
        expect(page.locator("h1")).to_be_visible()
        picture(page, name if scheme == "light" else f"{name}-dark")
        page.evaluate(axe)
        found = page.evaluate("axe.run()")
        faults += [
            f"{name}: {one['id']}: {node['html']}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]
    assert faults == []


def test_no_page_is_wider_than_a_phone(seen: Seen) -> None:
    seen.page.set_viewport_size({"width": 375, "height": 740})
    seen.page.emulate_media(color_scheme="dark")
    for name, path in _PAGES.items():
        page = seen.go(path)
        width = page.evaluate("document.documentElement.scrollWidth")
        picture(page, f"{name}-phone" if name != "group" else "phone")
        assert width <= 375, name


def test_why_a_group_is_stuck_is_found(seen: Seen) -> None:
    """From the overview by keys and links alone to the record that is not like the others."""
    page = seen.go("/")
    page.keyboard.press("g")
    page.keyboard.press("g")
    expect(page.get_by_role("heading", name="Groups")).to_be_visible()
    page.wait_for_load_state()  # its scripts, too
    page.keyboard.press("/")
    page.keyboard.type("billing")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 to 1 of 1 groups")).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nobody reads: the group has no members")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="177")).to_contain_text(re.compile(r"\d (h|d)"))
    page.get_by_role("link", name="Messages of orders-2 from offset 23").click()
    expect(page.locator("#records tr").first).to_contain_text("<order><number>2023")
    page.locator("#records tr a.open").first.click()
    expect(page.get_by_label("Value", exact=True)).to_contain_text("<order><number>2023")


def test_a_group_reads_again_from_yesterday_afternoon(seen: Seen) -> None:
    page = seen.go("/console/group?name=replayed")
    page.get_by_role("link", name="Reset offsets").click()
    at = datetime.fromtimestamp(YESTERDAY_MS / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    page.get_by_label("To", exact=True).select_option("time")
    page.get_by_label("Time (UTC)").fill(at)
    page.get_by_role("button", name="Preview").click()
    rows = page.get_by_role("region", name="What would change").locator("tbody tr")
    expect(rows).to_have_count(6)
    expect(rows.first).to_contain_text("-80")
    picture(page, "reset")
    page.get_by_role("button", name="Set these offsets").click()
    expect(page.get_by_text("offsets are changed")).to_be_visible()
    expect(page.get_by_role("link", name="offset 120").first).to_be_visible()
    assert page.locator("dl.cards").inner_text().count("480") == 1


def test_a_topic_lives_and_dies(seen: Seen) -> None:
    page = seen.go("/console/topics")
    page.get_by_role("link", name="Create a topic").click()
    page.get_by_label("Name").fill("made-here")
    page.get_by_label("Partitions").fill("2")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The topic is created")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name=re.compile("^All ")).click()
    page.get_by_role("link", name="cleanup.policy").click()
    page.get_by_label("New value").fill("compact")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("row", name="cleanup.policy")).to_contain_text("compact")
    page.get_by_role("link", name="Delete").click()
    page.get_by_label("Type the topic").fill("made-here")
    page.get_by_role("button", name="Delete the topic").click()
    expect(page.get_by_text("The topic is deleted")).to_be_visible()


def test_what_is_produced_here_is_followed_there(chromium: Browser, seen: Seen) -> None:
    page = seen.go("/console/topics/payments/messages")
    expect(page.get_by_label("Offset", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Follow live").click()
    expect(page.locator("#said")).to_have_text("Following: 0 since then.")
    other = chromium.new_page()
    other.goto(seen.address + "/console/topics/payments/produce")
    other.get_by_label("Key (empty: none)").fill("k<b>ey")
    other.get_by_label("Value", exact=True).fill('{"by": "<img src=x onerror=alert(1)>"}')
    other.get_by_label("Partition", exact=True).select_option("1")
    other.get_by_role("button", name="Produce").click()
    expect(other.get_by_label("Value", exact=True)).to_contain_text("<img src=x")
    other.close()
    first = page.locator("#records tr").first
    expect(first).to_contain_text('{"by": "<img src=x onerror=alert(1)>"}')
    expect(page.locator("#records img")).to_have_count(0)
    picture(page, "following")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#said")).to_have_text("1 came while it was followed.")


def test_the_orders_above_a_sum_are_found_and_downloaded(seen: Seen) -> None:
    """By an expression, in pages; what is shown comes as lines of JSON."""
    page = seen.go("/console/topics/orders/messages")
    page.get_by_text("What an expression can say").click()
    expect(page.get_by_text("into JSON, and into headers")).to_be_visible()
    page.get_by_label("Where (an expression)").fill(
        "value.total > 3900 and headers.source = 'shop'"
    )
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#records tr")).to_have_count(24)
    picture(page, "where")
    with page.expect_download() as told:
        page.get_by_role("link", name="Download these").click()
    assert told.value.suggested_filename == "orders.jsonl"
    lines = [json.loads(one) for one in Path(told.value.path()).read_text().splitlines()]
    assert {one["value"]["total"] > 3900 for one in lines} == {True}
    assert len(lines) == 24


def test_a_message_of_a_megabyte_is_cut_and_downloads_whole(seen: Seen) -> None:
    page = seen.go("/console/topics/pictures/messages")
    page.locator("#records a.open").click()
    expect(page.get_by_text("900.0 KiB")).to_be_visible()
    with page.expect_download() as told:
        page.get_by_role("link", name="Download the value").click()
    assert Path(told.value.path()).read_bytes() == bytes(range(256)) * 3600
    assert told.value.suggested_filename == "pictures-0-0.value"


def test_what_comes_in_is_seen_without_asking_again(seen: Seen, chromium: Browser) -> None:
    """The page stays where it is; the line moves."""
    page = seen.go("/console/topics/payments")
    expect(page.get_by_role("img", name="Records written from")).to_be_visible()
    other = chromium.new_page()
    for _ in range(5):
        other.goto(seen.address + "/console/topics/payments/produce")
        other.get_by_label("Value", exact=True).fill("{}")
        other.get_by_role("button", name="Produce").click()
        expect(other.get_by_label("Value", exact=True)).to_be_visible()
    other.close()
    most = page.locator("#rates figure").first.locator("figcaption .quiet")
    expect(most).not_to_have_text("0/s at the most")
    picture(page, "rates")
    page = seen.go("/console/group?name=billing")
    expect(page.get_by_role("img", name="Lag from")).to_be_visible()
    picture(page, "lag")
    page = seen.go("/")
    most = page.locator("#rates figure").first.locator("figcaption .quiet")
    expect(most).not_to_have_text("0/s at the most")
    picture(page, "overview")


def test_what_broke_the_schema_is_found_and_a_draft_repairs_it(seen: Seen) -> None:
    """From a record that somebody cannot read to the version to blame, and to one that fits."""
    page = seen.go("/console/topics/parcels/messages/0/2")
    expect(page.get_by_label("Value", exact=True)).to_contain_text('"weight": 1.5')
    page.get_by_role("link", name="parcels-value, version 3").click()
    blamed = page.get_by_role("row").filter(has_text="3 does not read 2")
    expect(blamed).to_have_count(1)
    blamed.get_by_role("link", name="2 to 3").click()
    expect(page.get_by_text("Version 3 does not read all that version 2 writes")).to_be_visible()
    expect(page.locator("tr.added").filter(has_text="weight")).to_have_count(1)
    picture(page, "diff")
    page.get_by_role("link", name="parcels-value").click()
    page.get_by_role("link", name="Check a draft").click()
    text = page.get_by_label("Schema", exact=True)
    broken = text.input_value()
    text.fill(broken.replace('"weight"', '"heft"'))
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("alert")).to_contain_text("It does not fit (BACKWARD")
    picture(page, "draft-refused")
    repaired = broken.replace('"type": "double"', '"type": "double", "default": 0')
    page.get_by_label("Schema", exact=True).fill(repaired)
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("status")).to_contain_text("It fits (BACKWARD, beside version 3)")
    page.get_by_role("button", name="Register it").click()
    expect(page.get_by_text("The schema is registered")).to_be_visible()
    expect(page.get_by_role("heading", name="Version 4")).to_be_visible()


def test_somebody_is_let_in_bounded_and_shut_out(seen: Seen) -> None:
    """A user, what she may read, how much she may write; and all of it away again."""
    page = seen.go("/console/acls")
    page.get_by_role("link", name="Users").click()
    page.get_by_role("link", name="Add a user").click()
    page.get_by_label("User", exact=True).fill("dora")
    page.get_by_label("Password").fill("not told")
    page.get_by_label("Once more").fill("not told")
    page.get_by_role("button", name="Set it").click()
    expect(page.get_by_role("row").filter(has_text="dora")).to_contain_text("SCRAM-SHA-512")
    page.get_by_role("link", name="ACLs").click()
    page.get_by_role("link", name="Add an ACL").click()
    page.get_by_label("Who").fill("User:dora")
    page.get_by_label("READ", exact=True).check()
    page.get_by_label("Name (* for all)").fill("team-0")
    page.get_by_label("Pattern").select_option("PREFIXED")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Topics that it is about now (10)")).to_be_visible()
    picture(page, "granting")
    page.get_by_role("button", name="Add it").click()
    granted = page.get_by_role("row").filter(has_text="User:dora")
    expect(granted).to_contain_text("PREFIXED")
    page.get_by_role("link", name="Quotas").click()
    page.get_by_role("link", name="Change quotas").click()
    page.get_by_label("user", exact=True).select_option("named")
    page.get_by_label("its name").first.fill("dora")
    page.get_by_role("button", name="Show").click()
    page.get_by_label("producer_byte_rate").fill("1000000")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("region", name="What would change")).to_contain_text("1,000,000")
    picture(page, "quota-preview")
    page.get_by_role("button", name="Set this").click()
    page.get_by_role("row").filter(has_text="dora").get_by_role("link", name="change").click()
    page.get_by_label("producer_byte_rate").fill("")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Set this").click()
    expect(page.get_by_text("no quotas")).to_be_visible()
    page.get_by_role("link", name="ACLs").click()
    granted.get_by_role("link", name="remove").click()
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("It is removed")).to_be_visible()
    expect(granted).to_have_count(0)
    page.get_by_role("link", name="Users").click()
    page.get_by_role("row").filter(has_text="dora").get_by_role("link", name="remove").click()
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("no credentials")).to_be_visible()
    page.wait_for_load_state()  # its scripts, too
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page.get_by_role("heading", name="Logs of node 1")).to_be_visible()
    picture(page, "logs")


def test_a_setting_is_changed_for_all_brokers_and_back(seen: Seen) -> None:
    """Compaction shall have two threads everywhere, and who said so is to be seen."""
    page = seen.go("/")
    page.get_by_role("row").filter(has_text="up").get_by_role("link", name="2", exact=True).click()
    page.get_by_role("link", name="All 3").click()
    page.get_by_role("link", name="log.cleaner.threads", exact=True).click()
    page.get_by_label("New value").fill("2")
    page.get_by_label("For", exact=True).select_option("all brokers")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_text("The setting is changed")).to_be_visible()
    row = page.get_by_role("row").filter(has_text="log.cleaner.threads")
    expect(row).to_contain_text("all brokers")
    row.get_by_role("link").click()
    layers = page.get_by_role("region", name="Who says what")
    expect(layers.get_by_role("row").nth(1)).to_contain_text("in force")
    picture(page, "broker-setting")
    page.get_by_role("button", name="Take it away from all brokers").click()
    expect(page.get_by_text("The setting is changed")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="log.cleaner.threads")).to_have_count(0)


def test_what_nobody_is_done_with_is_found_and_given_out_anew(seen: Seen) -> None:
    """A share group: who holds what, how long, and what a reset would do."""
    page = seen.go("/console/groups")
    row = page.get_by_role("row").filter(has_text="workers")
    expect(row).to_contain_text("share")
    row.get_by_role("link").click()
    jobs = page.get_by_role("region", name="By partition")
    expect(jobs.get_by_role("row")).to_have_count(4)
    expect(page.get_by_role("region", name="Members")).to_contain_text("worker-1")
    picture(page, "workers")
    page.get_by_role("link", name="Settings").click()
    expect(page.get_by_role("row").filter(has_text="share.auto.offset.reset")).to_be_visible()
    page.get_by_role("link", name="workers").click()
    page.get_by_role("link", name="Reset offsets").click()
    page.get_by_label("To", exact=True).select_option("the latest")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("region", name="What would change")).to_be_visible()
    expect(page.get_by_text("The group is Stable")).to_be_visible()
    expect(page.get_by_role("button", name="Set these offsets")).to_be_disabled()


def test_what_becomes_of_an_order_is_found(seen: Seen) -> None:
    """From the topic to what relays into it, and to a view that shows the large ones."""
    page = seen.go("/console/topics/orders")
    page.get_by_role("link", name="orders.retry").click()
    expect(page.get_by_text("after 5.0 s, then 1.0 min, then 10.0 min")).to_be_visible()
    page.get_by_role("link", name="Relay").click()
    expect(page.get_by_role("region", name="Relays")).to_contain_text("orders.dead")
    picture(page, "relays")
    page.get_by_role("link", name="Topics").first.click()
    page.get_by_role("link", name="Relays and views").click()
    page.get_by_role("link", name="browse orders.large").click()
    expect(page.locator("#records tr")).to_have_count(24)
    page.get_by_role("link", name="Topics").first.click()
    page.get_by_role("link", name="Relays and views").click()
    page.get_by_role("link", name="Create a relay").click()
    expect(page.get_by_label("Settings, one a line")).to_have_value(re.compile("kafkapy.relay.to="))


def test_an_open_transaction_is_found(seen: Seen) -> None:
    page = seen.go("/console/transactions")
    expect(page.get_by_text("1 open.")).to_be_visible()
    page.get_by_role("link", name="invoices-1").click()
    expect(page.get_by_role("button", name="Abort the transaction")).to_be_visible()
    page.get_by_role("link", name="in-doubt-0").click()
    expect(page.locator("#records")).to_contain_text("not committed")
    page.get_by_label("uncommitted, too").uncheck()
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("No messages here")).to_be_visible()
