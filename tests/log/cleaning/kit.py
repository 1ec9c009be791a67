"""A compacted partition on a disk in memory, a consumer of it, and the fixtures of Kafka's."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from uuid import UUID

from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Callback
from kafkapy.core.time import Instant
from kafkapy.log.append import Origin
from kafkapy.log.cleaning.candidates import Candidate, assess
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.log.cleaning.round import CleaningRound
from kafkapy.log.config import LogConfig
from kafkapy.log.names import LOG
from kafkapy.log.partition_log import PartitionLog
from kafkapy.protocol.batches.batch import Codec, NewRecord, Record, batches, build_batch, records
from kafkapy.protocol.batches.control_records import build_marker, read_marker
from kafkapy.sim.world.disk import SimDisk

COMPACTION = Path(__file__).parents[2] / "fixtures" / "compaction"
TP = TopicPartition("compact", 0)
BASE = "/data"
DIRECTORY = f"{BASE}/compact-0"
START = Instant(1_700_000_000_000)


class ManualTimer:
    def cancel(self) -> None:
        return


class ManualClock:
    """Time stands still; what is to run soon runs when asked."""

    def __init__(self, now: int = START) -> None:
        self.time = now
        self.ready: list[Callback] = []
        self.later: list[tuple[int, Callback]] = []

    def now(self) -> Instant:
        return Instant(self.time)

    def wall(self) -> Instant:
        return self.now()

    def ticks(self) -> float:
        return self.now() / 1000

    def call_at(self, when: Instant, then: Callback) -> ManualTimer:
        self.later.append((when, then))
        return ManualTimer()

    def call_soon(self, then: Callback) -> None:
        self.ready.append(then)

    def run(self, turns: int = 1_000_000) -> int:
        """Up to `turns` turns of the loop; how many there were."""
        done = 0
        while self.ready and done < turns:
            ready, self.ready = self.ready, []
            for then in ready:
                then()
            done += 1
        return done


class SeededRng:
    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)

    def uuid(self) -> UUID:
        return UUID(int=self._random.getrandbits(128))


def config(**settings: object) -> LogConfig:
    wanted: dict[str, object] = {
        "segment_bytes": 3000,
        "index_interval_bytes": 500,
        "delete_retention_ms": 5000,
        "min_cleanable_dirty_ratio": 0.01,
        "cleanup_policy": frozenset({"compact"}),
        "file_delete_delay_ms": 0,
        **settings,
    }
    return LogConfig(**wanted)  # type: ignore[arg-type]  # names are LogConfig's own


class Partition:
    """A partition that leads, with producers that count their own sequences."""

    def __init__(self, settings: LogConfig | None = None, *, disk: SimDisk | None = None) -> None:
        self.clock = ManualClock()
        self.disk = disk or SimDisk(now=self.clock.now)
        self.disk.make_directory(BASE)
        self.disk.flush_directory("/")
        self.settings = settings or config()
        self.log = self.open()
        self.sequences: dict[tuple[int, int], int] = {}

    def open(self, *, is_clean: bool = False, recovery_point: int = 0) -> PartitionLog:
        self.disk.make_directory(DIRECTORY)
        log = PartitionLog.open(
            self.disk,
            self.clock,
            SeededRng(),
            DIRECTORY,
            TP,
            self.settings,
            is_clean=is_clean,
            recovery_point=recovery_point,
        )
        log.advance_high_watermark(log.log_end_offset)
        self.log = log
        return log

    def write(
        self,
        *pairs: tuple[str, str | None],
        pid: int = -1,
        epoch: int = 0,
        transactional: bool = False,
        codec: Codec = Codec.NONE,
        timestamp: int | None = None,
    ) -> int:
        """Append one batch; its first offset."""
        when = self.clock.time if timestamp is None else timestamp
        sequence = self.sequences.get((pid, epoch), 0) if pid >= 0 else -1
        batch = build_batch(
            [
                NewRecord(key.encode(), None if value is None else value.encode(), when)
                for key, value in pairs
            ],
            codec=codec,
            producer_id=pid,
            producer_epoch=epoch if pid >= 0 else -1,
            base_sequence=sequence,
            is_transactional=transactional,
        )
        if pid >= 0:
            self.sequences[pid, epoch] = sequence + len(pairs)
        guard = None
        if transactional:
            guard = self.log.producers.begin_verification(
                pid, epoch, sequence, supports_epoch_bump=False, now=self.clock.now()
            )
        info = self.log.append_as_leader(memoryview(batch), leader_epoch=0, guard=guard)
        self.log.advance_high_watermark(self.log.log_end_offset)
        return info.first_offset

    def end(self, pid: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0) -> int:
        marker = build_marker(
            is_commit=commit,
            coordinator_epoch=coordinator_epoch,
            producer_id=pid,
            producer_epoch=epoch,
            timestamp=self.clock.time,
        )
        info = self.log.append_as_leader(
            memoryview(marker), leader_epoch=0, origin=Origin.COORDINATOR
        )
        self.log.advance_high_watermark(self.log.log_end_offset)
        return info.first_offset

    def roll(self) -> None:
        self.log.roll()

    def flush(self) -> None:
        self.log.flush(lambda error: None)

    def clean(self, first_dirty: int = 0, *, map_bytes: int = 1 << 20) -> int:
        """One whole round at once; where the log is dirty from now on."""
        work = self.round(first_dirty, map_bytes=map_bytes)
        for _ in work.run():
            pass
        return work.end_offset

    def round(
        self,
        first_dirty: int = 0,
        *,
        map_bytes: int = 1 << 20,
        resume: Callback = lambda: None,
    ) -> CleaningRound:
        candidate = self.assess(first_dirty)
        return CleaningRound(
            self.disk,
            self.log,
            candidate.first_dirty_offset,
            candidate.first_uncleanable_offset,
            OffsetMap(map_bytes),
            self.clock.now(),
            resume,
        )

    def assess(self, first_dirty: int = 0) -> Candidate:
        return assess(self.log, first_dirty, self.clock.now())

    # -- looking

    def contents(self) -> bytes:
        """All batches of the log, as a consumer from the start gets them."""
        return b"".join(
            segment.file.read(0, segment.size) for segment in self.log.segments if segment.size
        )

    def offsets(self) -> list[int]:
        """Of all records that are no markers."""
        return [record.offset for record in data_records(self.contents())]

    def committed(self) -> list[Record]:
        log = self.log
        upper = log.last_stable_offset
        aborted = log.aborted_transactions(log.segments.first.base_offset, upper)
        return read_committed(self.contents(), aborted, upper)

    def table(self) -> dict[bytes, bytes]:
        return table(self.committed())

    def names(self, suffix: str = "") -> list[str]:
        return [name for name in self.disk.list(DIRECTORY) if name.endswith(suffix)]


def data_records(data: bytes) -> list[Record]:
    return [
        record
        for position, header in batches(data)
        if not header.is_control
        for record in records(data[position : position + header.size])
    ]


def read_committed(data: bytes, aborted: Sequence[tuple[int, int]], upper: int) -> list[Record]:
    """What a consumer makes of a fetch: it drops the aborted transactions it is told of."""
    coming = sorted(aborted, key=lambda transaction: transaction[1])
    aborting: set[int] = set()
    found: list[Record] = []
    for position, header in batches(data):
        if header.base_offset >= upper:
            break
        batch = data[position : position + header.size]
        while coming and coming[0][1] <= header.last_offset:
            aborting.add(coming.pop(0)[0])
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None and not marker.is_commit:
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            found += records(batch)
    return found


def table(found: Sequence[Record]) -> dict[bytes, bytes]:
    """The latest value of each key; deleted keys are gone."""
    state: dict[bytes, bytes] = {}
    for record in found:
        assert record.key is not None
        if record.value is None:
            state.pop(record.key, None)
        else:
            state[record.key] = record.value
    return state


def stage(name: str) -> dict[str, bytes]:
    """File name -> contents of one moment of Kafka's partition."""
    with zipfile.ZipFile(COMPACTION / f"{name}.zip") as archive:
        return {
            member: archive.read(member)
            for member in archive.namelist()
            if member != "cleaner-offset-checkpoint"
        }


def kafkas_partition(name: str, now: int) -> Partition:
    """Kafka's files, opened by us at `now`."""
    clock = ManualClock(now)
    disk = SimDisk(now=clock.now)
    disk.make_directory(DIRECTORY)
    for member, contents in stage(name).items():
        file = disk.open(f"{DIRECTORY}/{member}", create=True)
        file.append([contents])
        file.close()
    partition = Partition(disk=disk)
    partition.clock.time = now
    return partition


def horizons(files: dict[str, bytes]) -> set[int]:
    return {
        header.base_timestamp
        for name, contents in files.items()
        if name.endswith(LOG)
        for _, header in batches(contents)
        if header.delete_horizon_ms is not None
    }
