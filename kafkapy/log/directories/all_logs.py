"""The log directories of a node: where each partition's log is, and what is done to all.

    load    every directory's logs, a job; then strays put aside, interrupted moves taken up again
    create  in the directory with the fewest logs (or the one that was asked for)
    move    a copy in another directory catches up, then takes over
    tick    retention, checkpoints, expiry of producers, cleaning: jobs (core/jobs.py)
    fail    a directory goes offline with all in it; the others go on

There is one log of a partition in use on a node, and at most one future copy of it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final
from uuid import UUID

from kafkapy.core.byte_rate import ByteRate
from kafkapy.core.errors import DiskFailed, ErrorCode, Refused
from kafkapy.core.ids import TopicPartition
from kafkapy.core.jobs import SLICE_US, Steps
from kafkapy.core.seams import Clock, Disk, Flushed, Journal, Rng, Timer
from kafkapy.core.time import Instant
from kafkapy.log.config import LogConfig
from kafkapy.log.directories.log_directory import UNKNOWN_EPOCH, LogDirectory
from kafkapy.log.directories.moving import Move
from kafkapy.log.directories.tasks import DirectorySettings, DirectoryTasks
from kafkapy.log.joined import join
from kafkapy.log.names import DirectoryKind
from kafkapy.log.partition_log import PartitionLog

__all__ = ["AllLogs", "DirectorySettings"]

# One that was closed in order; what recovering another costs nobody knows before.
_OPENING_US: Final = 60

IsStray = Callable[[TopicPartition, UUID | None], bool]
Moved = Callable[[TopicPartition, PartitionLog], None]


class AllLogs:
    """`on_failed` hears once of each failure of a disk that no caller is told; it should
    call `fail`, as whoever is told does. `on_moved` hears when a log was replaced by its
    copy in another directory."""

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        rng: Rng,
        journal: Journal,
        paths: Mapping[str, UUID],
        settings: DirectorySettings,
        *,
        failed: Mapping[str, str] | None = None,
    ) -> None:
        self._clock = clock
        self._journal = journal
        self.settings = settings
        self.cordoned = settings.cordoned
        self.move_rate = ByteRate()  # of all moves together
        self.on_failed: Callable[[DiskFailed], None] = self._fail_only
        # What `close` could not leave in order.
        self.not_closed: list[DiskFailed] = []
        self.on_moved: Moved = _nobody_minds
        self._directory_ids = dict(paths)
        self._directories = {
            path: LogDirectory(
                disk,
                clock,
                rng,
                journal,
                path,
                cleaner_settings=settings.cleaner,
                producer_expiry_ms=settings.producer_expiry_ms,
                failed=lambda error: self.on_failed(error),
            )
            for path in (*paths, *(failed or {}))
        }
        for path, cause in (failed or {}).items():
            self._directories[path].go_offline(cause)
        self._tasks = DirectoryTasks(clock, settings, self._online, self._report)
        self._timer: Timer | None = None
        self._moves: dict[TopicPartition, Move] = {}
        # Where AlterReplicaLogDirs wants partitions that are not here yet.
        self._preferred: dict[TopicPartition, str] = {}

    def alter(self, settings: DirectorySettings) -> None:
        """What of these may change while they are open does."""
        self.settings = settings
        self.cordoned = settings.cordoned
        for directory in self._directories.values():
            directory.alter(settings.cleaner, settings.producer_expiry_ms)
        self._tasks.alter(settings)

    # -- start

    @property
    def previous_broker_epoch(self) -> int:
        """Of the last clean shutdown, if all directories tell of the same one; else -1."""
        epochs = {directory.previous_broker_epoch for directory in self._directories.values()}
        return epochs.pop() if len(epochs) == 1 else UNKNOWN_EPOCH

    def load(self, config_for: Callable[[str], LogConfig]) -> Steps:
        """Open all logs."""
        began = self._clock.now()
        count = 0
        for directory in self._online():
            cost_us = _OPENING_US if directory.was_clean else SLICE_US
            try:
                for _ in directory.load(config_for):
                    count += 1
                    yield cost_us
            except DiskFailed as error:
                self.on_failed(error)
        self._journal.info(
            "logs loaded", logs=count, duration_ms=self._clock.now() - began, **self._cleanness()
        )

    def settle(self, is_stray: IsStray) -> None:
        """All are open. `is_stray(topic partition, topic id)`: the metadata knows no such
        replica here; its directory is put aside, not deleted. A disk that fails meanwhile takes
        its own directory offline, as at any other time."""
        seen: dict[TopicPartition, PartitionLog] = {}
        for directory in self._online():
            with suppress(DiskFailed):  # `on_failed` was told
                self._put_strays_aside(directory, is_stray, seen)
        for directory in self._online():
            with suppress(DiskFailed):
                self._settle_futures(directory)

    def start(self) -> None:
        """From now on `tick` is called when something is due."""
        self._timer = self._clock.call_at(self.tick(self._clock.now()), self.start)

    def tick(self, now: Instant) -> Instant:
        """Begin what is due; when to come again."""
        return self._tasks.tick(now)

    def _cleanness(self) -> dict[str, object]:
        """Which ones had to be recovered; in an empty one there was nothing to leave unclean."""
        unclean = [one.path for one in self._online() if one.logs and not one.was_clean]
        return {"unclean": ",".join(unclean)} if unclean else {}

    def _put_strays_aside(
        self, directory: LogDirectory, is_stray: IsStray, seen: dict[TopicPartition, PartitionLog]
    ) -> None:
        # A copy first of all: without its original it would take the name of a new topic.
        for future in list(directory.futures.values()):
            if is_stray(future.topic_partition, future.topic_id):
                self._put_aside(directory, future, DirectoryKind.STRAY)
        for log in list(directory.logs.values()):
            twin = seen.get(log.topic_partition)
            if is_stray(log.topic_partition, log.topic_id):
                self._put_aside(directory, log, DirectoryKind.STRAY)
            elif twin is None:
                seen[log.topic_partition] = log
            else:  # a move was cut off between its two renames: the copy has it all
                shorter = min(log, twin, key=lambda one: one.log_end_offset)
                seen[log.topic_partition] = twin if shorter is log else log
                its_directory = self._directory_of(shorter)
                try:
                    self._put_aside(its_directory, shorter, DirectoryKind.STRAY)
                except DiskFailed:
                    if its_directory is directory:
                        raise

    def _put_aside(
        self, directory: LogDirectory, log: PartitionLog, kind: DirectoryKind
    ) -> int | None:
        if kind is DirectoryKind.STRAY:
            self._journal.warning("stray log put aside", path=log.directory, topic_id=log.topic_id)
        try:
            return directory.put_aside(log, kind)
        except DiskFailed as error:
            self.on_failed(error)
            raise

    def _settle_futures(self, directory: LogDirectory) -> None:
        """Go on with moves; a copy whose original is gone is all there is of it."""
        for future in list(directory.futures.values()):
            current = self.get(future.topic_partition)
            if current is not None and future.topic_id in (None, current.topic_id):
                self._resume_move(current, future)
            elif current is not None:
                self._put_aside(directory, future, DirectoryKind.DELETED)
            elif all(one.is_online for one in self._directories.values()):
                try:
                    directory.promote(future, None)
                except DiskFailed as error:
                    self.on_failed(error)
                    raise

    # -- looking

    def get(self, topic_partition: TopicPartition) -> PartitionLog | None:
        for directory in self._directories.values():
            log = directory.logs.get(topic_partition)
            if log is not None and directory.is_online:
                return log
        return None

    def __iter__(self) -> Iterator[PartitionLog]:
        """The logs in use; no future copies, nothing offline."""
        for directory in self._online():
            yield from list(directory.logs.values())

    def in_directory(self, path: str) -> list[tuple[PartitionLog, bool]]:
        """(log, is it a future copy) of what is in an online directory."""
        directory = self._directories[path]
        if not directory.is_online:
            return []
        logs = [(log, False) for log in directory.logs.values()]
        return logs + [(log, True) for log in directory.futures.values()]

    def path_of(self, log: PartitionLog) -> str:
        return log.directory.rpartition("/")[0]

    def directory_id_of(self, log: PartitionLog) -> UUID:
        return self._directory_ids[self.path_of(log)]

    def is_offline(self, where: TopicPartition | str) -> bool:
        """Whether a directory is offline, or whatever is known of a partition."""
        if isinstance(where, str):
            return not self._directories[where].is_online
        return any(
            where in directory.logs
            for directory in self._directories.values()
            if not directory.is_online
        )

    def is_directory_offline(self, path: str) -> bool:
        return self.is_offline(path)

    @property
    def has_offline(self) -> bool:
        return any(not directory.is_online for directory in self._directories.values())

    @property
    def has_online(self) -> bool:
        return bool(self._online())

    # -- logs come, move and go

    def get_or_create(
        self,
        topic_partition: TopicPartition,
        topic_id: UUID,
        config: LogConfig,
        *,
        path: str | None = None,
        assigned: UUID | None = None,
        may_be_old: bool = False,
    ) -> PartitionLog:
        """Refused(INCONSISTENT_TOPIC_ID) if a log of that name holds another topic's data;
        Refused(KAFKA_STORAGE_ERROR) if it is not here but in an offline directory, or may be
        (`assigned`: the metadata says where; `may_be_old`: it does not, but there may be
        records that count), or there is no directory left: a replica that begins anew here,
        with nothing, must not stand for one whose disk may come back."""
        log = self.get(topic_partition)
        if log is not None:
            if log.topic_id not in (None, topic_id):
                raise Refused(
                    ErrorCode.INCONSISTENT_TOPIC_ID,
                    f"{log.directory} belongs to topic id {log.topic_id}, not {topic_id}",
                )
            log.adopt_topic_id(topic_id)
            log.config = config
            return log
        path = path or self._preferred.pop(topic_partition, None) or self._online_path(assigned)
        if self._is_lost(topic_partition, topic_id) or (
            self.has_offline and path is None and (assigned is not None or may_be_old)
        ):
            raise Refused(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"{topic_partition} may be in a log directory that is offline",
            )
        directory = self._choose(path)
        try:
            return directory.create(topic_partition, topic_id, config)
        except DiskFailed as error:
            self.on_failed(error)
            raise

    def _online_path(self, directory_id: UUID | None) -> str | None:
        for path, one in self._directory_ids.items():
            if one == directory_id and self._directories[path].is_online:
                return path
        return None

    def _is_lost(self, topic_partition: TopicPartition, topic_id: UUID) -> bool:
        """Whether it is in a directory that failed, not another topic of that name."""
        for directory in self._directories.values():
            log = None if directory.is_online else directory.logs.get(topic_partition)
            if log is not None and log.topic_id in (None, topic_id):
                return True
        return False

    def _choose(self, path: str | None) -> LogDirectory:
        if path is not None and self._directories[path].is_online:
            return self._directories[path]
        online = self._online()
        if not online:
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, "every log directory is offline")
        allowed = [one for one in online if one.path not in self.cordoned] or online
        return min(allowed, key=lambda one: len(one.logs) + len(one.futures))

    def reconfigure(self, topic_partition: TopicPartition, config: LogConfig) -> None:
        for directory in self._online():
            if topic_partition in directory.logs:
                directory.logs[topic_partition].config = config
                directory.cleaner.abort(topic_partition)
            if topic_partition in directory.futures:
                directory.futures[topic_partition].config = config

    def delete(self, topic_partition: TopicPartition) -> None:
        """Its directory is renamed now and removed after file.delete.delay.ms."""
        self._stop_move(topic_partition)
        self._preferred.pop(topic_partition, None)
        for directory in self._online():
            for logs in (directory.logs, directory.futures):
                if topic_partition in logs:
                    self._put_aside(directory, logs[topic_partition], DirectoryKind.DELETED)

    def move(self, topic_partition: TopicPartition, path: str) -> None:
        """Bring the partition to the directory `path`, now or when it is created."""
        target = self._directories[path]
        current = self.get(topic_partition)
        if current is None:
            self._preferred[topic_partition] = path
            return
        if topic_partition in target.futures:
            return
        self._stop_move(topic_partition)
        for directory in self._online():
            if topic_partition in directory.futures:
                future = directory.futures[topic_partition]
                self._put_aside(directory, future, DirectoryKind.DELETED)
        if topic_partition in target.logs:
            return
        assert current.topic_id is not None, f"{current} has no topic id"
        try:
            future = target.create(
                topic_partition, current.topic_id, current.config, is_future=True
            )
            future.truncate_fully_and_start_at(current.log_start_offset)
        except DiskFailed as error:
            self.on_failed(error)
            raise
        self._start_move(current, future)

    def _resume_move(self, current: PartitionLog, future: PartitionLog) -> None:
        if future.topic_id is None:
            # It was killed before it knew whose copy it is: perhaps of an older topic.
            future.truncate_fully_and_start_at(current.log_start_offset)
            if current.topic_id is not None:
                future.adopt_topic_id(current.topic_id)
        if future.recovered.hole_at is not None:
            # The cleaner's, or records that the copy had and lost: they are copied again.
            future.truncate_to(future.recovered.hole_at)
        self._start_move(current, future)

    def _start_move(self, current: PartitionLog, future: PartitionLog) -> None:
        move = Move(
            self._clock,
            current,
            future,
            rate=self.move_rate,
            finished=self._finish_move,
            failed=lambda error: self.on_failed(error),
        )
        self._moves[current.topic_partition] = move
        move.start()

    def _stop_move(self, topic_partition: TopicPartition) -> None:
        move = self._moves.pop(topic_partition, None)
        if move is not None:
            move.stop()

    def _finish_move(self, move: Move) -> None:
        current, future = move.current, move.future
        source, target = self._directory_of(current), self._directory_of(future)
        del self._moves[current.topic_partition]
        if current.topic_id is not None:
            future.adopt_topic_id(current.topic_id)
        first_dirty_offset = source.cleaner.first_dirty_offset(current.topic_partition)
        # First the copy takes the name, durably; a crash then finds two, and keeps it.
        target.promote(future, first_dirty_offset)
        self._put_aside(source, current, DirectoryKind.DELETED)
        target.recovery_points.write_later(target.report)
        self._journal.info("log moved", path=future.directory, bytes=future.size)
        self.on_moved(future.topic_partition, future)

    def _directory_of(self, log: PartitionLog) -> LogDirectory:
        return self._directories[self.path_of(log)]

    # -- failure and the end

    def fail(self, error: DiskFailed) -> str | None:
        """Take the directory offline that `error` is about. Its path, or None if that had
        happened before (or it is about no log directory)."""
        for path, directory in self._directories.items():
            if directory.is_online and (error.path == path or error.path.startswith(f"{path}/")):
                for topic_partition in (*directory.logs, *directory.futures):
                    self._stop_move(topic_partition)
                directory.go_offline(error.cause)
                return path
        return None

    def _fail_only(self, error: DiskFailed) -> None:
        self.fail(error)

    def _report(self, error: DiskFailed | None) -> None:
        if error is not None:
            self.on_failed(error)

    def close(self, broker_epoch: int, then: Callable[[], None]) -> None:
        """Flush and close everything, and mark what is complete as cleanly shut down. A
        directory that fails meanwhile is left without its mark."""
        if self._timer is not None:
            self._timer.cancel()
        self._tasks.stop()
        for topic_partition in list(self._moves):
            self._stop_move(topic_partition)
        online = self._online()

        def closed(path: str, one_closed: Flushed) -> Flushed:
            def done(error: DiskFailed | None) -> None:
                if error is not None:
                    self._journal.error("not closed cleanly", path=path, reason=error)
                    self.not_closed.append(error)
                one_closed(None)

            return done

        one_closed = join(len(online) + 1, lambda _: then())
        for directory in online:
            directory.close(broker_epoch, closed(directory.path, one_closed))
        one_closed(None)

    def _online(self) -> list[LogDirectory]:
        return [directory for directory in self._directories.values() if directory.is_online]


def _nobody_minds(_: TopicPartition, __: PartitionLog) -> None:
    pass
