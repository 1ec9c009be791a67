"""THE table of pages with Confluent's paths."""

from weakref import WeakKeyDictionary

from starlette.routing import BaseRoute, Route

from kafkapy.http.confluent.errors import V2, V3, Page, page
from kafkapy.http.confluent.v2.consumers import Consumers
from kafkapy.http.confluent.v2.instances import Instances
from kafkapy.http.confluent.v2.produce import Produce as ProduceV2
from kafkapy.http.confluent.v2.topics import Topics as TopicsV2
from kafkapy.http.confluent.v3.clusters import Clusters
from kafkapy.http.confluent.v3.produce import Produce
from kafkapy.http.confluent.v3.topics import Topics
from kafkapy.http.confluent.writing import Writing
from kafkapy.http.rest.room import schemas_of
from kafkapy.http.site import Site

_CLUSTER = "/v3/clusters/{cluster}"
_TOPIC = f"{_CLUSTER}/topics/{{topic}}"
_GROUP = f"{_CLUSTER}/consumer-groups/{{group}}"
_INSTANCE = "/consumers/{group}/instances/{instance}"

_instances: WeakKeyDictionary[Site, Instances] = WeakKeyDictionary()


def instances_of(site: Site) -> Instances:
    """The site's."""
    found = _instances.get(site)
    if found is None:
        found = _instances[site] = Instances(site.journal)
    return found


async def run(site: Site) -> None:
    await instances_of(site).sweep()


def routes(site: Site) -> list[BaseRoute]:
    writing = Writing(schemas_of(site))
    return [*_v3(site, writing), *_v2(site, writing)]


def _v3(site: Site, writing: Writing) -> list[BaseRoute]:
    clusters, topics, produce = Clusters(site), Topics(site), Produce(site, writing)
    rows: list[tuple[str, str, Page]] = [
        ("GET", "/v3/clusters", clusters.list),
        ("GET", _CLUSTER, clusters.one),
        ("GET", f"{_CLUSTER}/brokers", clusters.brokers),
        ("GET", f"{_CLUSTER}/brokers/{{broker}}", clusters.broker),
        ("GET", f"{_CLUSTER}/consumer-groups", clusters.groups),
        ("GET", _GROUP, clusters.group),
        ("GET", f"{_GROUP}/lags", clusters.lags),
        ("GET", f"{_GROUP}/lag-summary", clusters.lag_summary),
        ("GET", f"{_CLUSTER}/topics", topics.list),
        ("POST", f"{_CLUSTER}/topics", topics.create),
        ("GET", _TOPIC, topics.one),
        ("DELETE", _TOPIC, topics.delete),
        ("GET", f"{_TOPIC}/partitions", topics.partitions),
        ("GET", f"{_TOPIC}/partitions/{{partition}}", topics.partition),
        ("GET", f"{_TOPIC}/configs", topics.configs),
        ("POST", f"{_TOPIC}/configs:alter", topics.alter_configs),
        ("GET", f"{_TOPIC}/configs/{{name}}", topics.config),
        ("PUT", f"{_TOPIC}/configs/{{name}}", topics.set_config),
        ("DELETE", f"{_TOPIC}/configs/{{name}}", topics.reset_config),
        ("POST", f"{_TOPIC}/records", produce.records),
        ("POST", f"{_TOPIC}/records:batch", produce.batch),
    ]
    return [Route(path, page(answer, V3), methods=[method]) for method, path, answer in rows]


def _v2(site: Site, writing: Writing) -> list[BaseRoute]:
    topics, produce = TopicsV2(site), ProduceV2(site, writing)
    consumers = Consumers(site, schemas_of(site), instances_of(site))
    rows: list[tuple[str, str, Page]] = [
        ("GET", "/brokers", topics.brokers),
        ("GET", "/topics", topics.list),
        ("GET", "/topics/{topic}", topics.one),
        ("POST", "/topics/{topic}", produce.to_topic),
        ("GET", "/topics/{topic}/partitions", topics.partitions),
        ("GET", "/topics/{topic}/partitions/{partition}", topics.partition),
        ("POST", "/topics/{topic}/partitions/{partition}", produce.to_partition),
        ("GET", "/topics/{topic}/partitions/{partition}/offsets", topics.offsets),
        ("POST", "/consumers/{group}", consumers.make),
        ("DELETE", _INSTANCE, consumers.remove),
        ("POST", f"{_INSTANCE}/subscription", consumers.subscribe),
        ("GET", f"{_INSTANCE}/subscription", consumers.subscription),
        ("DELETE", f"{_INSTANCE}/subscription", consumers.unsubscribe),
        ("POST", f"{_INSTANCE}/assignments", consumers.assign),
        ("GET", f"{_INSTANCE}/assignments", consumers.assignments),
        ("GET", f"{_INSTANCE}/records", consumers.records),
        ("POST", f"{_INSTANCE}/offsets", consumers.commit),
        ("GET", f"{_INSTANCE}/offsets", consumers.committed),
        ("POST", f"{_INSTANCE}/positions", consumers.seek),
        ("POST", f"{_INSTANCE}/positions/beginning", consumers.seek_beginning),
        ("POST", f"{_INSTANCE}/positions/end", consumers.seek_end),
    ]
    return [Route(path, page(answer, V2), methods=[method]) for method, path, answer in rows]
