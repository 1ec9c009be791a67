"""/api/v1/alerts: what is not as it should be, by rules; and telling it without being asked.

every http.alerts.interval.ms   facts --> Judge --> what has changed --> journal, webhook
/api/v1/alerts                  what is pending and firing now
/api/v1/alerts/prometheus       the same rules, for Prometheus
"""

from typing import TYPE_CHECKING

import trio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from kafkapy.http.alerting.facts import gathered
from kafkapy.http.alerting.judge import FIRING, Alert, Judge
from kafkapy.http.alerting.rules import prometheus_rules
from kafkapy.http.alerting.webhook import Webhook, address_of, moment
from kafkapy.http.api import shapes
from kafkapy.http.api.declaring import Api, Told, declared
from kafkapy.http.problems import Problem

if TYPE_CHECKING:
    from kafkapy.http.site import Site


_ALERT = shapes.fields(
    dict.fromkeys(("rule", "kind", "severity", "subject", "state", "told", "since"), shapes.TEXT),
    title="Alert",
)


def routes(site: "Site") -> list[BaseRoute]:
    @declared(
        "What is not as it should be, as this node sees it",
        subject="Alerts",
        answers={
            200: Told("Pending and firing", shapes.fields({"alerts": shapes.several(_ALERT)}))
        },
    )
    async def alerts(request: Request) -> Response:
        await _check(site, request)
        return JSONResponse({"alerts": [_told(one) for one in site.judge.alerts]})

    @declared(
        "The same rules, for Prometheus",
        subject="Alerts",
        answers={200: Told("A file of rules", {"type": "object"}, "application/yaml")},
    )
    async def prometheus(request: Request) -> Response:
        await _check(site, request)
        return Response(prometheus_rules(site.judge.rules), media_type="application/yaml")

    return [
        Api("/api/v1/alerts", GET=alerts),
        Api("/api/v1/alerts/prometheus", GET=prometheus),
    ]


async def run(site: "Site") -> None:
    node = site.link.node
    webhook = None
    if site.alerting.webhook is not None:
        address = address_of(site.config.http_listeners)
        webhook = Webhook(
            site.alerting.webhook, node.node_id, node.cluster_id, site.journal, address
        )
    while True:
        if site.link.is_serving:
            await look(site, site.judge, webhook)
        await trio.sleep(site.config.http_alerts_interval_ms / 1000)


async def look(site: "Site", judge: Judge, webhook: Webhook | None) -> list[Alert]:
    changes = judge.decide(gathered(site))
    for one in changes:
        say = site.journal.warning if one.state == FIRING else site.journal.info
        say(f"alert {one.state}", rule=one.rule.name, told=one.told)
    if webhook is not None:
        await webhook.tell(changes)
    return changes


async def _check(site: "Site", request: Request) -> None:
    if not await site.may_describe_cluster(request):
        raise Problem(403, "alerts are for those who may DESCRIBE the cluster")


def _told(one: Alert) -> dict[str, object]:
    return {
        "rule": one.rule.name,
        "kind": one.rule.kind,
        "severity": one.rule.severity,
        "subject": one.subject,
        "state": one.state,
        "told": one.told,
        "since": moment(one.since_wall_ms),
    }
