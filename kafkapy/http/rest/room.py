"""THE table of REST's pages."""

from weakref import WeakKeyDictionary

from starlette.routing import BaseRoute, Route

from kafkapy.http.registry.room import own_kafka, registry_of
from kafkapy.http.rest.consuming import Consuming
from kafkapy.http.rest.offsets import Offsets
from kafkapy.http.rest.once.once import Once
from kafkapy.http.rest.producing import Producing
from kafkapy.http.rest.schemas import Schemas
from kafkapy.http.rest.topics import Topics
from kafkapy.http.site import Site

_PARTITION = "/api/v1/topics/{topic}/partitions/{partition}"
_GROUPS = "/api/v1/consumer-groups"


_schemas: WeakKeyDictionary[Site, Schemas] = WeakKeyDictionary()


def schemas_of(site: Site) -> Schemas:
    """The site's one."""
    found = _schemas.get(site)
    if found is None:
        found = _schemas[site] = Schemas(registry_of(site))
    return found


async def run(site: Site) -> None:
    """Processes that nobody asks any more are let go."""
    workers = schemas_of(site).workers
    try:
        await workers.let_go_when_idle()
    finally:
        await workers.close()


def routes(site: Site) -> list[BaseRoute]:
    config, schemas = site.config, schemas_of(site)
    once = Once(
        lambda: own_kafka(site),
        config.http_idempotency_retention_ms,
        config.http_idempotency_max_keys,
    )
    topics, producing = Topics(site), Producing(site, once, schemas)
    consuming, offsets = Consuming(site, schemas), Offsets(site)
    return [
        Route("/api/v1/topics", topics.list),
        Route("/api/v1/topics/{topic}", topics.one),
        Route("/api/v1/topics/{topic}/messages", producing.page, methods=["POST"]),
        Route(f"{_PARTITION}/messages", consuming.messages),
        Route(f"{_PARTITION}/stream", consuming.stream),
        Route(_GROUPS, offsets.groups),
        Route(f"{_GROUPS}/{{group}}/offsets", offsets.committed, methods=["GET"]),
        Route(f"{_GROUPS}/{{group}}/offsets", offsets.commit, methods=["POST"]),
    ]
