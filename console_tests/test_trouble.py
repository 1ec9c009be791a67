"""What is not well: a node is dead, a login is over. The last to run: it kills a node of all."""

import re

from playwright.sync_api import Browser, expect

from console_tests.seen import Seen, looking, picture
from kafkapy.testing import Broker, Cluster, SecuredBroker
from tests.http.pages import HTTP

_EVERY_MS = 11_000


def test_a_dead_node_is_seen_at_a_glance(seen: Seen, cluster: Cluster) -> None:
    seen.page.clock.install()
    page = seen.go("/")
    expect(page.get_by_text("3 of 3")).to_be_visible()
    cluster.kill(3)
    cluster.wait_for(lambda: len(cluster.in_sync("orders")) == 2, "a replica out of sync")
    seen.page.reload()
    expect(page.get_by_text("2 of 3")).to_be_visible()
    expect(page.get_by_text(re.compile("Under-replicated: "))).to_be_visible()
    picture(page, "dead-node")
    row = page.get_by_role("row").filter(has_text="fenced")
    expect(row).to_have_count(1)
    row.get_by_role("link").click()
    expect(page.get_by_text("broker 3 is not up")).to_be_visible()
    picture(page, "dead-broker")
    for path in ("/console/topics", "/console/topics/orders", "/console/groups",
                 "/console/group?name=billing", "/console/group?name=workers",
                 "/console/transactions", "/console/topics/orders/messages", "/console/relays",
                 "/console/schemas", "/console/acls", "/console/alerts"):  # fmt: skip
        seen.go(path)
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator("h1")).not_to_have_text("That did not work")
    # What a browser says of the page about a broker that is not up.
    seen.complaints = [one for one in seen.complaints if "status of 409" not in one]


def test_numbers_of_a_node_that_is_gone_are_not_taken_for_news(chromium: Browser) -> None:
    with Broker(HTTP) as broker, looking(chromium, broker.http) as seen:
        seen.page.clock.install()
        page = seen.go("/")
        expect(page.locator("#stale")).to_be_hidden()
        broker.stop()
        page.clock.fast_forward(_EVERY_MS)
        expect(page.locator("#stale")).to_contain_text("the node does not answer")
        picture(page, "stale")
        seen.complaints.clear()


def test_a_login_that_is_over_is_said_and_sees_nothing_any_more(chromium: Browser) -> None:
    """Of a user who is removed while she looks."""
    with SecuredBroker(HTTP, protocol="SASL_PLAINTEXT") as broker:
        broker.users.add("dora", "right")
        broker.acls.allow("dora", "describe", cluster=True)
        login = {"username": "dora", "password": "right"}
        with looking(chromium, broker.http, http_credentials=login) as seen:
            seen.page.clock.install()
            page = seen.go("/")
            expect(page.get_by_text("User:dora")).to_be_visible()
            broker.users.remove("dora")
            page.clock.fast_forward(_EVERY_MS)
            expect(page.locator("#stale")).to_contain_text("your login is no longer taken")
            answer = page.goto(broker.http + "/")
            assert answer is not None
            assert answer.status == 401
            page.close()  # after that it complains of nothing more
            seen.complaints.clear()
