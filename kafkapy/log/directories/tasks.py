"""What is done to all logs of a node from time to time, a few logs at a time.

    task                      how often (Kafka's names)                     per log
    retention                 log.retention.check.interval.ms               apply_retention
    high watermarks           replica.high.watermark.checkpoint.interval.ms checkpoint file
    recovery points           log.flush.offset.checkpoint.interval.ms       checkpoint file
    log starts                log.flush.start.offset.checkpoint.interval.ms checkpoint file
    producers                 producer.id.expiration.check.interval.ms      expire_producers
    memory                    every minute (ours)                           drop_idle_memory
    cleaning                  log.cleaner.backoff.ms                        one cleaner a dir

A pass over ten thousand logs is a job (core/jobs.py): it gives way after every few.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import DiskFailed
from kafkapy.core.jobs import Job, Steps
from kafkapy.core.seams import Clock, Flushed
from kafkapy.core.time import Instant, later
from kafkapy.log.cleaning.cleaner import CleanerSettings
from kafkapy.log.directories.log_directory import LogDirectory
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.producers.producer_state import DEFAULT_EXPIRY_MS

# Of any of the passes, for a log that has nothing to do or a little.
_LOG_COST_US: Final = 32
_MEMORY_INTERVAL_MS: Final = 60_000

LogTask = Callable[[PartitionLog, Instant], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectorySettings:
    """The broker settings that AllLogs acts on; Kafka's defaults."""

    initial_delay_ms: int = 30_000
    retention_check_interval_ms: int = 300_000
    high_watermark_checkpoint_interval_ms: int = 5_000
    recovery_point_checkpoint_interval_ms: int = 60_000
    log_start_checkpoint_interval_ms: int = 60_000
    producer_expiry_ms: int = DEFAULT_EXPIRY_MS
    producer_expiry_check_interval_ms: int = 600_000
    cleaner_backoff_ms: int = 15_000
    cleaner: CleanerSettings = field(default_factory=CleanerSettings)
    cordoned: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Task:
    interval_ms: int
    due: Instant
    begin: Callable[[], None]


class DirectoryTasks:
    """`report` hears of failures, also of those that are none (it is a `Flushed`)."""

    def __init__(
        self,
        clock: Clock,
        settings: DirectorySettings,
        directories: Callable[[], list[LogDirectory]],
        report: Flushed,
    ) -> None:
        self._clock = clock
        self._directories = directories
        self._report = report
        self._passes: dict[str, Job] = {}
        first = later(clock.now(), settings.initial_delay_ms)
        self._tasks = [
            _Task(interval_ms, first, begin)
            for interval_ms, begin in (
                (settings.retention_check_interval_ms, self._apply_retention),
                (settings.high_watermark_checkpoint_interval_ms, self._write_high_watermarks),
                (settings.recovery_point_checkpoint_interval_ms, self._write_recovery_points),
                (settings.log_start_checkpoint_interval_ms, self._write_log_starts),
                (settings.producer_expiry_check_interval_ms, self._expire_producers),
                (_MEMORY_INTERVAL_MS, self._drop_memory),
            )
        ]
        self._cleaning = _Task(settings.cleaner_backoff_ms, first, self._clean)
        self._tasks.append(self._cleaning)

    def alter(self, settings: DirectorySettings) -> None:
        """Of the intervals only log.cleaner.backoff.ms is altered while a broker runs."""
        interval_ms = settings.cleaner_backoff_ms
        if interval_ms != self._cleaning.interval_ms:
            self._cleaning.interval_ms = interval_ms
            self._cleaning.due = min(self._cleaning.due, later(self._clock.now(), interval_ms))

    def tick(self, now: Instant) -> Instant:
        """Begin what is due; when the next is."""
        for task in self._tasks:
            if task.due <= now:
                task.due = later(now, task.interval_ms)
                task.begin()
        return min(task.due for task in self._tasks)

    def stop(self) -> None:
        for job in self._passes.values():
            job.stop()

    def _apply_retention(self) -> None:
        self._pass("retention", lambda log, now: log.apply_retention(now))

    def _expire_producers(self) -> None:
        self._pass("producers", lambda log, now: log.expire_producers(now))

    def _drop_memory(self) -> None:
        self._pass("memory", lambda log, _: log.drop_idle_memory())

    def _write_high_watermarks(self) -> None:
        for directory in self._directories():
            directory.high_watermarks.write_later(self._report)

    def _write_recovery_points(self) -> None:
        for directory in self._directories():
            directory.recovery_points.write_later(self._report)

    def _write_log_starts(self) -> None:
        for directory in self._directories():
            directory.log_starts.write_later(self._report)

    def _clean(self) -> None:
        for directory in self._directories():
            directory.cleaner.tick()

    def _pass(self, name: str, task: LogTask) -> None:
        """Over all logs, unless the last pass of that name is still under way."""
        if name in self._passes and not self._passes[name].is_over:
            return
        logs = [log for directory in self._directories() for log in directory.logs.values()]
        job = self._passes[name] = Job(self._clock, self._over(logs, task))
        job.start()

    def _over(self, logs: list[PartitionLog], task: LogTask) -> Steps:
        for log in logs:
            if log.is_closed:
                continue
            try:
                task(log, self._clock.wall())
            except DiskFailed as error:
                self._report(error)
            yield _LOG_COST_US
