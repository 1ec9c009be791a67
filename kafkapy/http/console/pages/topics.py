"""All topics, a page at a time; creating and deleting them."""

from typing import Any, Final

import trio

from kafkapy.http.console.asked import Asked, Pages, number
from kafkapy.http.console.charts import rate
from kafkapy.http.console.pages.topic import require_describe
from kafkapy.http.console.paging import part_of
from kafkapy.http.console.seeing import sizes, until_seen, visible_topics
from kafkapy.http.kafka.errors import check
from kafkapy.http.problems import Problem
from kafkapy.http.watching.history import RECORDS
from kafkapy.kraft.views import source_of
from kafkapy.protocol.api_keys import ApiKey

_NAME: Final = "name"
SORTS: Final = (_NAME, "partitions", "written", "state")
# A partition without a leader is worse than any number of those that lack a replica.
_WORSE: Final = 1_000_000
# So many topics are looked at before others on this thread get their turn.
_AT_ONCE: Final = 1000


async def show(asked: Asked) -> Any:
    kafka, text = asked.kafka, asked.query("q")
    names = await visible_topics(kafka, text)
    hides = asked.query("internal") != "1"
    if hides:
        names = [one for one in names if not one.startswith("__")]
    part = part_of(asked, await _sorted(asked, names))
    there = [one for one in part.rows if one in kafka.image.topics_by_name]
    of_topics = await sizes(kafka, there)
    rows = []
    for name in there:
        partitions = list(kafka.topic(name).partitions.values())
        source = source_of(kafka.image, kafka.image.topics_by_name[name])
        rows.append(
            {
                "name": name,
                "partitions": len(partitions),
                "replicas": max((len(one.replicas) for one in partitions), default=0),
                "view_of": source,
                "size": None
                if of_topics is None or source is not None
                else sum(of_topics.get(name, {}).values()),
                "rate": _rate(asked, name),
                "offline": sum(not one.has_leader for one in partitions),
                "under": sum(len(one.isr) < len(one.replicas) for one in partitions),
            }
        )
    sorts = {one: asked.link(sort=None if one == _NAME else one, page=None) for one in SORTS}
    return asked.page(
        "topics.html",
        part=part,
        rows=rows,
        text=text,
        hides=hides,
        by=_by(asked),
        sorts=sorts,
    )


def _by(asked: Asked) -> str:
    by = asked.query("sort", _NAME)
    if by not in SORTS:
        raise Problem(400, f"sort is one of {', '.join(SORTS)}")
    return by


async def _sorted(asked: Asked, names: list[str]) -> list[str]:
    """Those with most of it first; those of one rank by name, as they came."""
    by = _by(asked)
    if by == _NAME:
        return names
    ranks: dict[str, float] = {}
    for index, name in enumerate(names):
        if index % _AT_ONCE == 0:
            await trio.sleep(0)
        topic = asked.kafka.image.topics_by_name.get(name)
        partitions = () if topic is None else list(topic.partitions.values())
        if by == "written":
            ranks[name] = _records(asked, name)
        elif by == "partitions":
            ranks[name] = len(partitions)
        else:
            offline = sum(not one.has_leader for one in partitions)
            under = sum(len(one.isr) < len(one.replicas) for one in partitions)
            ranks[name] = offline * _WORSE + under
    return sorted(names, key=lambda name: -ranks[name])


def _rate(asked: Asked, name: str) -> str | None:
    """As this node last saw it; None where it has no replica."""
    here = asked.kafka.node_id
    partitions = asked.kafka.topic(name).partitions.values()
    if not any(here in one.replicas for one in partitions):
        return None
    return rate(_records(asked, name))


def _records(asked: Asked, name: str) -> float:
    return (asked.site.history.of_topic(name, RECORDS) or (0.0,))[-1]


async def ask_create(asked: Asked) -> Any:
    return asked.page("create_topic.html")


async def create(asked: Asked) -> Any:
    fields = await asked.fields()
    name = fields.get("name", "").strip()
    if not name:
        raise Problem(400, "a topic has a name")
    configs = []
    for line in fields.get("configs", "").splitlines():
        if line.strip():
            key, equals, value = line.partition("=")
            if not equals:
                raise Problem(400, f"{line.strip()}: a setting is written name=value")
            configs.append({"name": key.strip(), "value": value.strip()})
    topic = {
        "name": name,
        "num_partitions": number(fields.get("partitions", ""), "partitions", -1, 1, 100_000),
        "replication_factor": number(fields.get("replicas", ""), "replicas", -1, 1, 100),
        "assignments": [],
        "configs": configs,
    }
    body = {"topics": [topic], "timeout": asked.kafka.timeout_ms, "validate_only": False}
    answer = await asked.kafka.ask(ApiKey.CREATE_TOPICS, body)
    with asked.needs("CREATE", "TOPIC", name):
        check(answer.topics[0].error_code, name, answer.topics[0].error_message)

    async def is_there() -> bool:
        return name in asked.kafka.image.topics_by_name

    await until_seen(is_there)
    return asked.go(f"/console/topics/{name}", done="created")


async def ask_delete(asked: Asked) -> Any:
    name = asked.path("topic")
    await require_describe(asked, name)
    return asked.page("delete_topic.html", name=name)


async def delete(asked: Asked) -> Any:
    name = asked.path("topic")
    if (await asked.fields()).get("confirm", "").strip() != name:
        raise Problem(400, f"to delete the topic, type its name: {name}")
    topics = [{"name": name, "topic_id": None}]
    body = {"topics": topics, "timeout": asked.kafka.timeout_ms}
    answer = await asked.kafka.ask(ApiKey.DELETE_TOPICS, body)
    with asked.needs("DELETE", "TOPIC", name):
        check(answer.responses[0].error_code, name, answer.responses[0].error_message)

    async def is_gone() -> bool:
        return name not in asked.kafka.image.topics_by_name

    await until_seen(is_gone)
    return asked.go("/console/topics", done="deleted")


PAGES: Pages = (
    ("GET", "/console/topics", show),
    ("GET", "/console/create-topic", ask_create),
    ("POST", "/console/create-topic", create),
    ("GET", "/console/topics/{topic}/delete", ask_delete),
    ("POST", "/console/topics/{topic}/delete", delete),
)
