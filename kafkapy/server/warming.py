"""What the first clients will ask for is imported once the node serves, in small pieces.

A start imports no handler and no schema (they cost more than all the rest of it), so the
first request of an API would wait for them, some for tens of milliseconds. Between the
pieces here is a pause, in which requests are served; who comes earlier imports for himself.
"""

from typing import Final

from kafkapy.broker.requests.apis import find_api
from kafkapy.core.jobs import Job, Pause, Steps
from kafkapy.core.seams import Clock
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages import warm

_PAUSE: Final = Pause(20)

# What a producer and a consumer use, in the order of their lives. The versions are those
# of librdkafka 2.16 and of the Java clients 4.3, where they differ. Produce has a decoder
# and an encoder of its own.
COMMON: Final[tuple[tuple[ApiKey, tuple[int, ...]], ...]] = (
    (ApiKey.API_VERSIONS, (3, 4)),
    (ApiKey.METADATA, (13,)),
    (ApiKey.PRODUCE, ()),
    (ApiKey.FETCH, (16, 18)),
    (ApiKey.LIST_OFFSETS, (7, 11)),
    (ApiKey.INIT_PRODUCER_ID, (4, 5)),
    (ApiKey.CREATE_TOPICS, (4, 7)),
    (ApiKey.FIND_COORDINATOR, (2, 6)),
    (ApiKey.JOIN_GROUP, (5, 9)),
    (ApiKey.SYNC_GROUP, (3, 5)),
    (ApiKey.HEARTBEAT, (3, 4)),
    (ApiKey.OFFSET_FETCH, (9, 10)),
    (ApiKey.OFFSET_COMMIT, (9, 10)),
    (ApiKey.LEAVE_GROUP, (1, 5)),
)


def warm_up(clock: Clock) -> None:
    Job(clock, _pieces()).start_soon()


def _pieces() -> Steps:
    for key, versions in COMMON:
        api = find_api(key, is_controller=False)
        assert api is not None, key
        _ = api.handle
        yield _PAUSE
        for version in versions:
            for _ in warm(key, version):
                yield _PAUSE
