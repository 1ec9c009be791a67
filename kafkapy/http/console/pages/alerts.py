"""What is not as it should be, as the node that is asked sees it: its health, and its alerts."""

from typing import Any

from kafkapy.http.alerting.judge import FIRING
from kafkapy.http.alerting.rules import KINDS
from kafkapy.http.console.asked import Asked, Lacking, Pages
from kafkapy.http.health import look, worst
from kafkapy.kraft.acls import CLUSTER_NAME


async def show(asked: Asked) -> Any:
    site = asked.site
    if not await site.may_describe_cluster(asked.request):
        raise Lacking("DESCRIBE", "CLUSTER", CLUSTER_NAME)
    findings = look(site)
    alerts = sorted(site.judge.alerts, key=lambda one: (one.state != FIRING, one.rule.name))
    return asked.page(
        "alerts.html",
        node=site.link.node.node_id,
        state=worst(findings),
        findings=findings,
        alerts=alerts,
        rules=site.judge.rules,
        kinds=KINDS,
    )


PAGES: Pages = (("GET", "/console/alerts", show),)
