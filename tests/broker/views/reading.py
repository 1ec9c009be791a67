"""A world with a topic and a view of it, and a consumer by the book that reads either."""

from collections.abc import Mapping, Sequence
from typing import Any

from kafkapy.broker.partitions.partition import Partition
from kafkapy.core.errors import ErrorCode
from kafkapy.log.append import Origin
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import Codec, NewRecord, Record, batches, build_batch, records
from kafkapy.protocol.batches.control_records import ControlRecordType, build_marker, control_type
from kafkapy.sim.world.world import World

UNCOMMITTED, COMMITTED = 0, 1
WAITS_MS = 500
_MOST_IDLE = 50


class Views:
    """`orders` with two partitions, and `shown`, a view of it."""

    def __init__(self, where: str, config: Mapping[str, str] | None = None) -> None:
        self.world = World(1)
        self.world.start()
        self.create("orders", config or {}, partitions=2)
        error = self.create("shown", {"kafkapy.view.of": "orders", "kafkapy.view.where": where})
        assert not error, error

    def create(self, name: str, config: Mapping[str, str], *, partitions: int = -1) -> str | None:
        """Why not."""
        configs = [{"name": key, "value": value} for key, value in config.items()]
        topic = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": -1,
            "configs": configs,
        }
        answer = self.world.ask(ApiKey.CREATE_TOPICS, {"topics": [topic], "timeout": 10_000})
        (row,) = answer.topics
        return f"{ErrorCode(row.error_code).name}: {row.error_message}" if row.error_code else None

    def partition(self, index: int = 0) -> Partition:
        found = self.world.broker.partitions.get("orders", index)
        assert found is not None
        return found

    def append(self, *values: bytes, index: int = 0, codec: Codec = Codec.NONE) -> None:
        self.write([NewRecord(one[:1], one, 1_000) for one in values], index=index, codec=codec)

    def write(self, new: Sequence[NewRecord], *, index: int = 0, **traits: Any) -> None:
        batch = memoryview(build_batch(new, **traits))
        partition = self.partition(index)
        guard = None
        if traits.get("is_transactional"):  # the coordinator knows of it
            guard = partition.log.producers.begin_verification(
                traits["producer_id"],
                traits["producer_epoch"],
                traits["base_sequence"],
                supports_epoch_bump=False,
                now=self.world.clock.wall(),
            )
        partition.append(batch, guard=guard)

    def mark(self, producer_id: int, *, is_commit: bool) -> None:
        marker = build_marker(
            is_commit=is_commit,
            coordinator_epoch=0,
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=1_000,
        )
        self.partition().append(memoryview(marker), origin=Origin.COORDINATOR)

    # --- a consumer ---

    def fetch(
        self,
        topic: str,
        offset: int,
        *,
        index: int = 0,
        isolation: int = UNCOMMITTED,
        max_wait: int = WAITS_MS,
        max_bytes: int = 1 << 20,
    ) -> Any:
        """The partition's row."""
        return self.rows(self.world.ask(ApiKey.FETCH, self.body(**locals()), version=12))[0]

    @staticmethod
    def body(
        topic: str, offset: int, index: int, isolation: int, max_wait: int, max_bytes: int, **_: Any
    ) -> dict[str, Any]:
        row = {
            "partition": index,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": max_bytes,
        }
        return {
            "replica_id": -1,
            "max_wait": max_wait,
            "min_bytes": 1,
            "max_bytes": 50 << 20,
            "isolation_level": isolation,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": topic, "partitions": [row]}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }

    @staticmethod
    def rows(answer: Any) -> list[Any]:
        return [row for topic in answer.responses for row in topic.partitions]

    def consumed(
        self,
        topic: str,
        isolation: int = UNCOMMITTED,
        *,
        start: int = 0,
        max_bytes: int = 1 << 20,
        fetches: list[int] | None = None,
    ) -> list[Record]:
        """All that a consumer gets from `start` to the end, by Kafka's rules."""
        got: list[Record] = []
        position = start
        idle = 0
        while True:
            row = self.fetch(topic, position, isolation=isolation, max_wait=0, max_bytes=max_bytes)
            assert not row.error_code, ErrorCode(row.error_code)
            if fetches is not None:
                fetches.append(len(row.records or b""))
            aborted = sorted(
                (one.first_offset, one.producer_id) for one in row.aborted_transactions or ()
            )
            before = position
            found, position = _visible(row.records or b"", aborted, position)
            got += found
            end = row.last_stable_offset if isolation == COMMITTED else row.high_watermark
            if position >= end:
                return got
            if position == before:
                assert idle < _MOST_IDLE, f"stuck at {position} before {end}"
                idle += 1
                self.world.clock.settle()  # what is evaluated in slices goes on, in no time


def _visible(
    data: bytes, aborted: list[tuple[int, int]], position: int
) -> tuple[list[Record], int]:
    """The records to be seen, and where the consumer is behind them."""
    gone: set[int] = set()
    found: list[Record] = []
    for at, header in batches(data):
        while aborted and aborted[0][0] <= header.last_offset:
            gone.add(aborted.pop(0)[1])
        inside = list(records(data[at : at + header.size]))
        if header.is_control:
            if inside and control_type(inside[0].key) is ControlRecordType.ABORT:
                gone.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in gone):
            found += [record for record in inside if record.offset >= position]
        position = max(position, header.next_offset)
    return found, position
