"""Is it well? For machines, /health/live and /health/ready: yes or no, and nothing more. For
people, and for programs that want reasons, /health.

    live    the node's loop answers                      a probe that fails restarts the container
    ready   this node serves: registered, unfenced       a probe that fails takes it from a service
    health  pass, warn or fail, and for each thing that was looked at what is the matter

/health is text for a terminal, and JSON (application/health+json) for who asks for JSON.
"""

from typing import Final, NamedTuple

import trio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from kafkapy import __version__
from kafkapy.broker.partitions.partition import Partition
from kafkapy.http.metrics.partitions import is_under_min
from kafkapy.http.problems import Problem, problem
from kafkapy.http.site import Site

PASS, WARN, FAIL = "pass", "warn", "fail"
_ORDER: Final = (PASS, WARN, FAIL)
# A loop that has not answered by then is not alive: clients' own timeouts are 30 s.
_LIVE_SECONDS: Final = 10.0
_FULL_PERCENT: Final = 10  # free
_MEDIA_TYPE: Final = "application/health+json"
_SHOWN: Final = 5


class Finding(NamedTuple):
    what: str
    state: str
    told: str


def routes(site: Site) -> list[BaseRoute]:
    async def live(request: Request) -> Response:
        with trio.move_on_after(_LIVE_SECONDS):
            await site.link.call(lambda: None)
            return Response("alive\n", media_type="text/plain")
        return problem(503, f"the node's loop has not answered for {_LIVE_SECONDS} s")

    async def ready(request: Request) -> Response:
        if not is_ready(site):
            return problem(503, "this node does not serve (yet, or any more)")
        return Response("ready\n", media_type="text/plain")

    async def health(request: Request) -> Response:
        if not await site.may_describe_cluster(request):
            raise Problem(403, "the summary is for those who may DESCRIBE the cluster")
        findings = look(site)
        state = worst(findings)
        status = 503 if state == FAIL else 200
        if "json" in request.headers.get("accept", ""):
            return JSONResponse(_told(site, state, findings), status, media_type=_MEDIA_TYPE)
        return Response(_text(site, state, findings), status, media_type="text/plain")

    return [
        Route("/health/live", live),
        Route("/health/ready", ready),
        Route("/health", health),
    ]


def is_ready(site: Site) -> bool:
    node = site.link.node
    if not site.link.is_serving:
        return False
    if node.broker is None:
        return True
    known = node.image.brokers.get(node.node_id)
    return known is not None and not known.fenced


def look(site: Site) -> list[Finding]:
    """Everything that can be said without asking others."""
    findings = [_serving(site), _quorum(site)]
    if site.link.node.broker is not None:
        findings += [_brokers(site), _offline(site), _replicas(site), *_directories(site)]
    return findings


def worst(findings: list[Finding]) -> str:
    return max((one.state for one in findings), key=_ORDER.index)


def _serving(site: Site) -> Finding:
    if is_ready(site):
        return Finding("node", PASS, "serves")
    return Finding("node", FAIL, "does not serve: it starts, stops, or is fenced")


def _quorum(site: Site) -> Finding:
    quorum = site.link.node.quorum
    leader = quorum.leader_id
    if leader is None:
        return Finding("quorum", FAIL, "nobody leads the metadata quorum: nothing can be changed")
    return Finding("quorum", PASS, f"node {leader} leads, in epoch {quorum.leader_epoch}")


def _brokers(site: Site) -> Finding:
    brokers = list(site.link.image.brokers.values())
    fenced = sorted(one.id for one in brokers if one.fenced)
    if fenced:
        return Finding("brokers", WARN, f"{len(brokers)} known, of which fenced: {_some(fenced)}")
    return Finding("brokers", PASS, f"{len(brokers)} serve")


def _offline(site: Site) -> Finding:
    """In the whole cluster."""
    offline = [
        f"{topic.name}-{index}"
        for topic in list(site.link.image.topics_by_name.values())
        for index, state in list(topic.partitions.items())
        if not state.has_leader
    ]
    if offline:
        return Finding("partitions", FAIL, f"{len(offline)} have no leader: {_some(offline)}")
    return Finding("partitions", PASS, "all have leaders")


def _replicas(site: Site) -> Finding:
    """Of what this node leads."""
    broker = site.link.node.broker
    assert broker is not None, "asked above"
    led = [one for one in broker.partitions.snapshot() if one.is_leader]
    lacking = [_name(one) for one in led if is_under_min(one)]
    if lacking:
        told = f"{len(lacking)} have too few in sync for acks=all: {_some(lacking)}"
        return Finding("replicas", FAIL, told)
    behind = [_name(one) for one in led if len(one.isr) < len(one.replicas)]
    if behind:
        return Finding("replicas", WARN, f"{len(behind)} are not all in sync: {_some(behind)}")
    return Finding("replicas", PASS, f"all in sync, of {len(led)} partitions led here")


def _directories(site: Site) -> list[Finding]:
    node = site.link.node
    assert node.broker is not None, "asked above"
    findings = []
    for path in site.config.data_directories:
        if node.broker.logs.is_directory_offline(path):
            findings.append(Finding(f"disk {path}", FAIL, "the directory has failed"))
            continue
        total, usable = node.disk.space(path)
        free = 100 * usable // total if total > 0 else 100
        state = WARN if free < _FULL_PERCENT else PASS
        findings.append(Finding(f"disk {path}", state, f"{free} % free"))
    return findings


def _name(partition: Partition) -> str:
    topic, index = partition.topic_partition
    return f"{topic}-{index}"


def _some(names: "list[str] | list[int]") -> str:
    shown = ", ".join(str(one) for one in names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} ..."


def _told(site: Site, state: str, findings: list[Finding]) -> dict[str, object]:
    return {
        "status": state,
        "version": __version__,
        "node_id": site.link.node.node_id,
        "cluster_id": site.link.node.cluster_id,
        "checks": {one.what: [{"status": one.state, "output": one.told}] for one in findings},
    }


def _text(site: Site, state: str, findings: list[Finding]) -> str:
    node = site.link.node
    width = max(len(one.what) for one in findings)
    lines = [f"{one.state:4}  {one.what:{width}}  {one.told}" for one in findings]
    head = f"{state}  node {node.node_id} of cluster {node.cluster_id}, kafkapy {__version__}"
    return "\n".join([head, "", *lines, ""])
