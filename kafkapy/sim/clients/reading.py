"""Reading as consumers do: ListOffsets and Fetch, batch by batch, record by record."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import batches, crc_is_valid, records
from kafkapy.sim.promises.partitions import (
    NUMBER_HEADER,
    BrokenPromise,
    Contents,
    PartitionPromises,
    ReadRecord,
)
from kafkapy.sim.world.frames import Disconnected, Pending
from kafkapy.sim.world.rng import SimRng
from kafkapy.sim.world.world import World

EARLIEST: Final = -2
LATEST: Final = -1
_RETRY_MS: Final = 100
_MOST_TRIES: Final = 100
# The last version of Fetch with topic names; those after it have ids.
_BY_NAME: Final = 12


class Fetched(NamedTuple):
    """One partition of a Fetch answer. `next_offset` is where to go on."""

    code: ErrorCode
    high_watermark: int
    log_start_offset: int
    records: tuple[ReadRecord, ...]
    next_offset: int


def read_all(world: World, promises: PartitionPromises, rng: SimRng) -> Contents:
    """Everything in the partition, in fetches of any size."""
    start = list_offset(world, promises, EARLIEST)
    end = list_offset(world, promises, LATEST)
    found: list[ReadRecord] = []
    offset = start
    while offset < end:
        fetched = fetch_now(world, promises, offset, rng.magnitude(64, 200_000))
        promises.require(fetched.code is ErrorCode.NONE, f"{fetched.code!r} at {offset}")
        promises.require(
            fetched.high_watermark == end, f"ends at {end}, or at {fetched.high_watermark}"
        )
        if fetched.next_offset == offset:
            # The cleaner left nothing up to the end; everywhere else this is a hole.
            break
        found.extend(fetched.records)
        offset = fetched.next_offset
    return Contents(start, end, tuple(found))


def list_offset(world: World, promises: PartitionPromises, timestamp: int) -> int:
    """The start, the end, or the first record at `timestamp` or later (-1: none)."""
    partition = {"partition_index": promises.index, "timestamp": timestamp}
    topic = {"name": promises.topic.name, "partitions": [partition]}
    body = {"replica_id": -1, "isolation_level": 0, "topics": [topic]}
    for _ in range(_MOST_TRIES):
        answer = world.ask(ApiKey.LIST_OFFSETS, body).topics[0].partitions[0]
        if answer.error_code != ErrorCode.OFFSET_NOT_AVAILABLE:
            break
        # A leader that has just begun does not know yet what is committed.
        world.clock.advance(_RETRY_MS)
    promises.require(answer.error_code == 0, f"ListOffsets {timestamp}: {answer}")
    return int(answer.offset)


def fetch_now(world: World, promises: PartitionPromises, offset: int, max_bytes: int) -> Fetched:
    done: list[Fetched] = []
    fetch(world, promises, offset, max_bytes, 0, False, done.append)
    world.clock.run_until(lambda: bool(done), 1000)
    promises.require(bool(done), f"a fetch at {offset} that may not wait is not answered")
    return done[0]


def fetch(
    world: World,
    promises: PartitionPromises,
    offset: int,
    max_bytes: int,
    max_wait_ms: int,
    by_id: bool,
    then: Callable[[Fetched], None],
) -> None:
    """One Fetch request; `then` runs when it is answered, perhaps much later, or never."""
    topic: dict[str, Any] = {
        "partitions": [
            {
                "partition": promises.index,
                "current_leader_epoch": -1,
                "fetch_offset": offset,
                "partition_max_bytes": max_bytes,
            }
        ]
    }
    if by_id:
        topic["topic_id"] = promises.topic.topic_id
    else:
        topic["topic"] = promises.topic.name
    body: Mapping[str, Any] = {
        "max_wait": max_wait_ms,
        "min_bytes": 1,
        "max_bytes": max(max_bytes, 1000),
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [topic],
    }
    if not by_id:
        body = {**body, "replica_id": -1}

    def answered(pending: Pending) -> None:
        answer = pending.answer
        if isinstance(answer, Disconnected):
            return
        if answer.error_code:
            then(Fetched(ErrorCode(answer.error_code), -1, -1, (), offset))
            return
        (only,) = answer.responses[0].partitions
        code = ErrorCode(only.error_code)
        found, next_offset = _decode(promises, bytes(only.records or b""), offset)
        then(Fetched(code, only.high_watermark, only.log_start_offset, found, next_offset))

    world.send(ApiKey.FETCH, body, version=None if by_id else _BY_NAME, then=answered)


def _decode(
    promises: PartitionPromises, data: bytes, offset: int
) -> tuple[tuple[ReadRecord, ...], int]:
    """The records from `offset` on in all whole batches, as a consumer takes them."""
    found = []
    next_offset = offset
    try:
        for position, header in batches(data):
            if not crc_is_valid(data, position, header):
                raise Corrupt(f"the CRC of {header} is wrong")
            batch = memoryview(data)[position : position + header.size]
            for record in records(batch):
                if record.offset >= offset:
                    found.append(
                        ReadRecord(
                            record.offset,
                            int(dict(record.headers)[NUMBER_HEADER] or b"-1"),
                            record.key,
                            record.value,
                            record.timestamp,
                        )
                    )
            next_offset = max(next_offset, header.next_offset)
    except (Corrupt, KeyError, ValueError) as error:
        raise BrokenPromise(f"{promises}: what is read at {offset} is no data: {error}") from error
    return tuple(found), next_offset
