"""THE table of REST's pages."""

from weakref import WeakKeyDictionary

from starlette.routing import BaseRoute, Route, WebSocketRoute

from kafkapy.http.registry.room import own_kafka, registry_of
from kafkapy.http.rest.configs import Configs
from kafkapy.http.rest.consuming import Consuming
from kafkapy.http.rest.dead_letters import DeadLetters
from kafkapy.http.rest.groups import Groups
from kafkapy.http.rest.offsets import Offsets
from kafkapy.http.rest.once.once import Once
from kafkapy.http.rest.producing import Producing
from kafkapy.http.rest.push.pushing import Pushing
from kafkapy.http.rest.schemas import Schemas
from kafkapy.http.rest.topics import Topics
from kafkapy.http.site import Site

_PARTITION = "/api/v1/topics/{topic}/partitions/{partition}"
_GROUPS = "/api/v1/consumer-groups"
_LETTERS = "/api/v1/dead-letters/{topic}"


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
    settings, schemas = site.config, schemas_of(site)
    once = Once(
        lambda: own_kafka(site),
        settings.http_idempotency_retention_ms,
        settings.http_idempotency_max_keys,
    )
    configs, groups, pushing = Configs(site), Groups(site), Pushing(site, schemas)
    topics, producing = Topics(site), Producing(site, once, schemas)
    consuming, offsets = Consuming(site, schemas), Offsets(site)
    letters = DeadLetters(site, schemas)
    return [
        Route("/api/v1/topics", topics.list, methods=["GET"]),
        Route("/api/v1/topics", topics.create, methods=["POST"]),
        Route("/api/v1/topics/{topic}", topics.one, methods=["GET"]),
        Route("/api/v1/topics/{topic}", topics.delete, methods=["DELETE"]),
        Route("/api/v1/topics/{topic}/partitions", topics.grow, methods=["POST"]),
        Route("/api/v1/topics/{topic}/configs", configs.read, methods=["GET"]),
        Route("/api/v1/topics/{topic}/configs", configs.change, methods=["PATCH"]),
        Route("/api/v1/topics/{topic}/messages", producing.page, methods=["POST"]),
        Route(f"{_PARTITION}/messages", consuming.messages),
        Route(f"{_PARTITION}/stream", pushing.partition_events),
        WebSocketRoute(f"{_PARTITION}/stream", pushing.partition_socket),
        Route(f"{_GROUPS}/{{group}}/stream", pushing.group_events),
        WebSocketRoute(f"{_GROUPS}/{{group}}/stream", pushing.group_socket),
        Route(_GROUPS, groups.list),
        Route(f"{_GROUPS}/{{group}}", groups.one, methods=["GET"]),
        Route(f"{_GROUPS}/{{group}}", groups.delete, methods=["DELETE"]),
        Route(f"{_GROUPS}/{{group}}/offsets/reset", groups.reset, methods=["POST"]),
        Route(f"{_GROUPS}/{{group}}/offsets", offsets.committed, methods=["GET"]),
        Route(f"{_GROUPS}/{{group}}/offsets", offsets.commit, methods=["POST"]),
        Route(_LETTERS, letters.by_reason, methods=["GET"]),
        Route(f"{_LETTERS}/letters", letters.letters, methods=["GET"]),
        Route(f"{_LETTERS}/replay", letters.replay, methods=["POST"]),
        Route(f"{_LETTERS}/drop", letters.drop, methods=["POST"]),
    ]
