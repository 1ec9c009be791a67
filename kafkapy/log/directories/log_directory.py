"""One log directory: the partition logs in it, its checkpoints, its clean-shutdown marker.

    load  checkpoints read, every partition's log opened, then the marker removed
    ...   logs created, moved, deleted; checkpoints written now and then
    close logs closed --> checkpoints --> marker: the next start believes file sizes

When its disk fails the directory goes offline with everything in it, until the node is
started again; the other directories go on. formats/log 1, 2 and 4.
"""

import json
from collections.abc import Callable, Iterator
from typing import Final
from uuid import UUID

from kafkapy.core.errors import DiskFailed
from kafkapy.core.ids import TopicPartition
from kafkapy.core.seams import Clock, Disk, Flushed, Journal, Rng
from kafkapy.core.time import later
from kafkapy.log.cleaning.cleaner import Cleaned, Cleaner, CleanerSettings
from kafkapy.log.config import LogConfig
from kafkapy.log.directories.offset_checkpoint import Logs, OffsetCheckpoint
from kafkapy.log.joined import join
from kafkapy.log.names import (
    CLEAN_SHUTDOWN_MARKER,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    METADATA_TOPIC,
    RECOVERY_POINT_CHECKPOINT,
    REMOTE_INDEX_CACHE,
    DirectoryKind,
    marked_directory,
    parse_partition_directory,
    partition_directory,
)
from kafkapy.log.partition_log import PartitionLog

UNKNOWN_EPOCH: Final = -1
# Logs that are closed together: what worker threads flush side by side is far less, and half
# a dozen files of each are open meanwhile.
CLOSING_AT_ONCE: Final = 256


class LogDirectory:
    """`failed` is called with what its disk did, whenever nobody else is told."""

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        journal: Journal,
        path: str,
        *,
        cleaner_settings: CleanerSettings,
        producer_expiry_ms: int,
        failed: Callable[[DiskFailed], None],
    ) -> None:
        self.path = path
        self.is_online = True
        self.logs: Logs = {}
        self.futures: Logs = {}
        # Why the directory is offline, if it is.
        self.cause: str | None = None
        self._disk = disk
        self._clock = clock
        self._rng = rng
        self._journal = journal
        self._failed = failed
        self._producer_expiry_ms = producer_expiry_ms
        self._is_loaded = False
        self._is_closing = False
        self.recovery_points = self._checkpoint(
            RECOVERY_POINT_CHECKPOINT, lambda log: log.recovery_point
        )
        self.log_starts = self._checkpoint(LOG_START_CHECKPOINT, _log_start_above_first_segment)
        self.high_watermarks = self._checkpoint(
            HIGH_WATERMARK_CHECKPOINT, lambda log: log.high_watermark
        )
        self.cleaner = Cleaner(
            disk,
            clock,
            path,
            lambda: list(self.logs.values()),
            settings=cleaner_settings,
            finished=self._cleaned,
            gave_up=self._not_cleaned,
            failed=self._report_failure,
        )
        self.was_clean, self.previous_broker_epoch = self._read_marker()

    def alter(self, cleaner_settings: CleanerSettings, producer_expiry_ms: int) -> None:
        """Its logs may be open; a round of cleaning that is under way is paced anew."""
        self.cleaner.settings = cleaner_settings
        if producer_expiry_ms != self._producer_expiry_ms:
            self._producer_expiry_ms = producer_expiry_ms
            for log in (*self.logs.values(), *self.futures.values()):
                log.keep_producers_for(producer_expiry_ms)

    def _checkpoint(
        self, name: str, offset_of: Callable[[PartitionLog], int | None]
    ) -> OffsetCheckpoint:
        return OffsetCheckpoint(
            self._disk, self._clock, f"{self.path}/{name}", self.logs, offset_of
        )

    # -- the start

    def load(self, config_for: Callable[[str], LogConfig]) -> Iterator[PartitionLog]:
        """Open every log; yields each."""
        offsets = (self.recovery_points.read(), self.log_starts.read())
        watermarks = self.high_watermarks.read()
        for name in self._disk.list(self.path):
            path = f"{self.path}/{name}"
            found = parse_partition_directory(name)
            if name == REMOTE_INDEX_CACHE or not self._disk.is_directory(path):
                continue
            if found is None:
                self._journal.warning("not a partition, left alone", path=path)
                continue
            topic_partition, kind = found
            if topic_partition.topic == METADATA_TOPIC or kind is DirectoryKind.STRAY:
                continue
            if kind is DirectoryKind.DELETED:
                self._remove_later(path, config_for(topic_partition.topic).file_delete_delay_ms)
                continue
            log = PartitionLog.open(
                self._disk,
                self._clock,
                self._rng,
                path,
                topic_partition,
                config_for(topic_partition.topic),
                is_clean=self.was_clean,
                recovery_point=offsets[0].get(topic_partition, 0),
                log_start_offset=offsets[1].get(topic_partition, 0),
                high_watermark=watermarks.get(topic_partition, 0),
                producer_expiry_ms=self._producer_expiry_ms,
            )
            if log.recovered.is_notable:
                self._journal.warning("log recovered", path=path, **_facts(log))
            self._watch(log)
            (self.logs if kind is DirectoryKind.CURRENT else self.futures)[topic_partition] = log
            yield log
        if self.was_clean:
            # Recovery points that are right only for a log nobody appends to go first.
            self.recovery_points.write_now()
            self._disk.remove(f"{self.path}/{CLEAN_SHUTDOWN_MARKER}")
            self._disk.flush_directory(self.path)
        self._is_loaded = True

    def _read_marker(self) -> tuple[bool, int]:
        """(is there one, the broker epoch in it). Kafka's oldest markers are empty."""
        try:
            text = self._disk.read_file(f"{self.path}/{CLEAN_SHUTDOWN_MARKER}")
        except FileNotFoundError:
            return False, UNKNOWN_EPOCH
        except DiskFailed as error:
            self.go_offline(error.cause)
            return False, UNKNOWN_EPOCH
        try:
            marker = json.loads(text)
            return True, int(marker["brokerEpoch"])
        except (ValueError, KeyError, TypeError):
            return True, UNKNOWN_EPOCH

    # -- logs come and go

    def create(
        self,
        topic_partition: TopicPartition,
        topic_id: UUID,
        config: LogConfig,
        *,
        is_future: bool = False,
    ) -> PartitionLog:
        name = (
            marked_directory(topic_partition, DirectoryKind.FUTURE, self._rng.uuid())
            if is_future
            else partition_directory(topic_partition)
        )
        if topic_partition not in self.logs:
            for checkpoint in (self.recovery_points, self.log_starts, self.high_watermarks):
                checkpoint.forget(topic_partition)
        log = PartitionLog.open(
            self._disk,
            self._clock,
            self._rng,
            f"{self.path}/{name}",
            topic_partition,
            config,
            is_clean=False,
            topic_id=topic_id,
            producer_expiry_ms=self._producer_expiry_ms,
        )
        self._watch(log)
        (self.futures if is_future else self.logs)[topic_partition] = log
        return log

    def delete(self, log: PartitionLog) -> None:
        """Out of sight at once (the name is free again), off the disk later."""
        self.put_aside(log, DirectoryKind.DELETED)

    def put_aside(self, log: PartitionLog, kind: DirectoryKind) -> int | None:
        """Rename the log's directory out of the way; a deleted one is removed later. What
        the cleaner knew of it, for where it lives on."""
        topic_partition = log.topic_partition
        log.abandon()
        aside = f"{self.path}/{marked_directory(topic_partition, kind, self._rng.uuid())}"
        self._disk.rename(log.directory, aside)
        first_dirty_offset = None
        if self.logs.get(topic_partition) is log:
            del self.logs[topic_partition]
            first_dirty_offset = self.cleaner.removed(topic_partition)
            # An old log start, found by a new log of that name, would empty it.
            self.log_starts.write_later(self.report)
            self.recovery_points.write_later(self.report)
        elif self.futures.get(topic_partition) is log:
            del self.futures[topic_partition]
        if kind is DirectoryKind.DELETED:
            self._remove_later(aside, log.config.file_delete_delay_ms)
        return first_dirty_offset

    def promote(self, future: PartitionLog, first_dirty_offset: int | None) -> None:
        """A future log takes the name of the current one, durably."""
        topic_partition = future.topic_partition
        path = f"{self.path}/{partition_directory(topic_partition)}"
        self._disk.rename(future.directory, path)
        future.moved(path)
        self._disk.flush_directory(self.path)
        del self.futures[topic_partition]
        self.logs[topic_partition] = future
        if first_dirty_offset is not None:
            self.cleaner.added(topic_partition, first_dirty_offset)

    def _watch(self, log: PartitionLog) -> None:
        log.events.on_disk_failed = self.report
        log.events.on_recovery_point_lowered = self.recovery_points.write_now
        log.events.on_replacing = self.recovery_points.write_now
        log.events.on_truncated = lambda: self.cleaner.truncated(
            log.topic_partition, log.segments.active.base_offset
        )

    def _remove_later(self, path: str, delay_ms: int) -> None:
        def remove() -> None:
            try:
                self._disk.remove_tree(path)
            except FileNotFoundError:
                return
            except DiskFailed as error:
                self.report(error)

        self._clock.call_at(later(self._clock.now(), delay_ms), remove)

    def _cleaned(self, cleaned: Cleaned) -> None:
        self._journal.info(
            "log cleaned",
            partition=cleaned.topic_partition,
            offsets=f"{cleaned.first_dirty_offset}-{cleaned.end_offset}",
            bytes_read=cleaned.bytes_read,
            bytes_written=cleaned.bytes_written,
            duration_ms=cleaned.duration_ms,
        )

    def _not_cleaned(self, topic_partition: TopicPartition, error: Exception) -> None:
        self._journal.error(
            "log cannot be cleaned",
            partition=topic_partition,
            path=f"{self.path}/{partition_directory(topic_partition)}",
            reason=f"{type(error).__name__}: {error}",
        )

    # -- the end

    def report(self, error: DiskFailed | None) -> None:
        """A `Flushed` for what nobody waits for."""
        if error is not None:
            self._report_failure(error)

    def _report_failure(self, error: DiskFailed) -> None:
        if self.is_online and not self._is_closing:
            self._failed(error)

    def go_offline(self, cause: str) -> None:
        """Touch nothing in it any more."""
        self.is_online = False
        self.cause = cause
        self.cleaner.stop()
        for log in (*self.logs.values(), *self.futures.values()):
            log.abandon()

    def close(self, broker_epoch: int, then: Flushed) -> None:
        """Leave the directory as a clean start expects it."""
        self._is_closing = True
        self.cleaner.stop()
        logs = [*self.logs.values(), *self.futures.values()]

        def marked(error: DiskFailed | None) -> None:
            # What a turn appended may have been lost since (core/turn.py).
            is_whole = error is None and self.is_online
            is_complete = is_whole and (self._is_loaded or self.was_clean)
            if is_complete:
                marker = json.dumps({"version": 0, "brokerEpoch": broker_epoch}).replace(" ", "")
                self._disk.write_file_later(
                    f"{self.path}/{CLEAN_SHUTDOWN_MARKER}", marker.encode(), then
                )
            else:
                then(error)

        def closed(error: DiskFailed | None) -> None:
            if error is not None:
                then(error)
                return
            one_written = join(3, marked)
            self.recovery_points.write_later(one_written)
            self.log_starts.write_later(one_written)
            self.high_watermarks.write_later(one_written)

        close_some_at_a_time(logs, closed)


def close_some_at_a_time(logs: list[PartitionLog], then: Flushed) -> None:
    """Each log keeps its files open until they are flushed: all ten thousand of them at once
    need more descriptors than a process may have."""
    one_closed = join(len(logs) + 1, then)
    left = iter(logs)
    under_way, is_going_on = 0, False

    def done(error: DiskFailed | None) -> None:
        nonlocal under_way
        under_way -= 1
        one_closed(error)
        if not is_going_on:
            go_on()

    def go_on() -> None:
        nonlocal under_way, is_going_on
        is_going_on = True
        while under_way < CLOSING_AT_ONCE and (log := next(left, None)) is not None:
            under_way += 1
            _close(log, done)
        is_going_on = False

    go_on()
    one_closed(None)


def _close(log: PartitionLog, then: Flushed) -> None:
    try:
        log.close(then)
    except DiskFailed as error:
        then(error)
    except FileNotFoundError as missing:
        then(DiskFailed(str(missing.filename), "no such file any more"))


def _log_start_above_first_segment(log: PartitionLog) -> int | None:
    """Otherwise the name of the first segment says it."""
    start = log.log_start_offset
    return start if start > log.segments.first.base_offset else None


def _facts(log: PartitionLog) -> dict[str, object]:
    recovered = log.recovered
    return {
        "log_end_offset": log.log_end_offset,
        "truncated_bytes": recovered.truncated_bytes,
        "removed_segments": recovered.removed_segments,
        "rebuilt_indexes": recovered.rebuilt_indexes,
    }
