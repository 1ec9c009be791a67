"""THE table of REST's pages."""

from starlette.routing import BaseRoute, Route

from kafkapy.http.registry.room import own_kafka
from kafkapy.http.rest.consuming import Consuming
from kafkapy.http.rest.offsets import Offsets
from kafkapy.http.rest.once.once import Once
from kafkapy.http.rest.producing import Producing
from kafkapy.http.rest.topics import Topics
from kafkapy.http.site import Site

_PARTITION = "/api/v1/topics/{topic}/partitions/{partition}"
_GROUPS = "/api/v1/consumer-groups"


def routes(site: Site) -> list[BaseRoute]:
    config = site.config
    once = Once(
        lambda: own_kafka(site),
        config.http_idempotency_retention_ms,
        config.http_idempotency_max_keys,
    )
    topics, producing = Topics(site), Producing(site, once)
    consuming, offsets = Consuming(site), Offsets(site)
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
