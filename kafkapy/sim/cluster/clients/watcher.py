"""A client that looks where partitions end: for it, neither watermark ever goes back."""

from collections.abc import Callable, Sequence
from typing import Final

from kafkapy.core.ids import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.clients.actors import LOST, Actor, Ask, Sleep
from kafkapy.sim.promises.partitions import BrokenPromise
from kafkapy.sim.world.rng import SimRng

_LATEST: Final = -1
_ISOLATION_LEVELS: Final = ((0, "high watermark"), (1, "last stable offset"))


def watcher(
    partitions: Sequence[TopicPartition], dice: SimRng, is_over: Callable[[], bool]
) -> Actor:
    seen: dict[tuple[TopicPartition, int], int] = {}
    while not is_over():
        partition = dice.choice(partitions)
        level, name = dice.choice(_ISOLATION_LEVELS)
        answer = yield latest(partition, level)
        if answer is not LOST:
            row = answer.topics[0].partitions[0]
            before = seen.get((partition, level), 0)
            if row.error_code == 0:
                if row.offset < before:
                    raise BrokenPromise(
                        f"{partition}: the {name} went back from {before} to {row.offset}"
                    )
                seen[partition, level] = row.offset
        yield Sleep(dice.magnitude(10, 500))


def latest(partition: TopicPartition, isolation_level: int, to: int | None = None) -> Ask:
    row = {"partition_index": partition.partition, "timestamp": _LATEST}
    body = {
        "replica_id": -1,
        "isolation_level": isolation_level,
        "topics": [{"name": partition.topic, "partitions": [row]}],
    }
    return Ask(ApiKey.LIST_OFFSETS, 6, body, to)
