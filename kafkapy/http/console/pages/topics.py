"""All topics, a page at a time; creating and deleting them."""

from typing import Any

from kafkapy.http.console.asked import Asked, Pages, number
from kafkapy.http.console.charts import rate
from kafkapy.http.console.pages.topic import require_describe
from kafkapy.http.console.paging import part_of
from kafkapy.http.console.seeing import sizes, until_seen, visible_topics
from kafkapy.http.history import RECORDS
from kafkapy.http.kafka.errors import check
from kafkapy.http.problems import Problem
from kafkapy.protocol.api_keys import ApiKey


async def show(asked: Asked) -> Any:
    kafka, text = asked.kafka, asked.query("q")
    names = await visible_topics(kafka, text)
    hides = asked.query("internal") != "1"
    if hides:
        names = [one for one in names if not one.startswith("__")]
    part = part_of(asked, names)
    there = [one for one in part.rows if one in kafka.image.topics_by_name]
    of_topics = await sizes(kafka, there)
    rows = []
    for name in there:
        partitions = list(kafka.topic(name).partitions.values())
        rows.append(
            {
                "name": name,
                "partitions": len(partitions),
                "replicas": max((len(one.replicas) for one in partitions), default=0),
                "size": None if of_topics is None else sum(of_topics.get(name, {}).values()),
                "rate": _rate(asked, name),
                "offline": sum(not one.has_leader for one in partitions),
                "under": sum(len(one.isr) < len(one.replicas) for one in partitions),
            }
        )
    return asked.page("topics.html", part=part, rows=rows, text=text, hides=hides)


def _rate(asked: Asked, name: str) -> str | None:
    """As this node last saw it; None where it has no replica."""
    here = asked.kafka.node_id
    partitions = asked.kafka.topic(name).partitions.values()
    if not any(here in one.replicas for one in partitions):
        return None
    return rate((asked.site.history.of_topic(name, RECORDS) or (0.0,))[-1])


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
