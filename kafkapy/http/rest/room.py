"""THE table of REST's pages."""

from weakref import WeakKeyDictionary

from starlette.routing import BaseRoute, WebSocketRoute

from kafkapy.http.api.declaring import Api
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
        Api("/api/v1/topics", GET=topics.list, POST=topics.create),
        Api("/api/v1/topics/{topic}", GET=topics.one, DELETE=topics.delete),
        Api("/api/v1/topics/{topic}/partitions", POST=topics.grow),
        Api("/api/v1/topics/{topic}/configs", GET=configs.read, PATCH=configs.change),
        Api("/api/v1/topics/{topic}/messages", POST=producing.page),
        Api(f"{_PARTITION}/messages", GET=consuming.messages),
        Api(f"{_PARTITION}/stream", GET=pushing.partition_events),
        WebSocketRoute(f"{_PARTITION}/stream", pushing.partition_socket),
        Api(_GROUPS, GET=groups.list),
        Api(f"{_GROUPS}/{{group}}", GET=groups.one, DELETE=groups.delete),
        Api(f"{_GROUPS}/{{group}}/offsets", GET=offsets.committed, POST=offsets.commit),
        Api(f"{_GROUPS}/{{group}}/offsets/reset", POST=groups.reset),
        Api(f"{_GROUPS}/{{group}}/stream", GET=pushing.group_events),
        WebSocketRoute(f"{_GROUPS}/{{group}}/stream", pushing.group_socket),
        Api(_LETTERS, GET=letters.by_reason),
        Api(f"{_LETTERS}/letters", GET=letters.letters),
        Api(f"{_LETTERS}/replay", POST=letters.replay),
        Api(f"{_LETTERS}/drop", POST=letters.drop),
    ]
