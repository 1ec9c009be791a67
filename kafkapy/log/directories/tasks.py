"""What is done to all logs of a node from time to time, a few logs at a time.

    task                      how often (Kafka's names)                     per log
    retention                 log.retention.check.interval.ms               apply_retention
    high watermarks           replica.high.watermark.checkpoint.interval.ms checkpoint file
    recovery points           log.flush.offset.checkpoint.interval.ms       checkpoint file
    log starts                log.flush.start.offset.checkpoint.interval.ms checkpoint file
    producers                 producer.id.expiration.check.interval.ms      expire_producers
    memory                    every minute (ours)                           drop_idle_memory
    cleaning                  log.cleaner.backoff.ms                        one cleaner a dir

A pass over ten thousand logs gives way to whatever is ready after every few.
"""

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Clock, Flushed
from kafkapy.core.time import Instant, later
from kafkapy.log.cleaning.cleaner import CleanerSettings
from kafkapy.log.directories.log_directory import LogDirectory
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.producers.producer_state import DEFAULT_EXPIRY_MS

_LOGS_PER_SLICE: Final = 32
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
    move_max_bytes_per_second: float = float("inf")
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
        self._is_stopped = False
        self._passes: dict[str, Iterator[PartitionLog]] = {}
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
                (settings.cleaner_backoff_ms, self._clean),
            )
        ]

    def tick(self, now: Instant) -> Instant:
        """Begin what is due; when the next is."""
        for task in self._tasks:
            if task.due <= now:
                task.due = later(now, task.interval_ms)
                task.begin()
        return min(task.due for task in self._tasks)

    def stop(self) -> None:
        self._is_stopped = True

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
        if name in self._passes:
            return
        logs = [log for directory in self._directories() for log in directory.logs.values()]
        rest = self._passes[name] = iter(logs)

        def go_on() -> None:
            now = self._clock.now()
            for _ in range(_LOGS_PER_SLICE):
                log = next(rest, None)
                if log is None or self._is_stopped:
                    del self._passes[name]
                    return
                if log.is_closed:
                    continue
                try:
                    task(log, now)
                except DiskFailed as error:
                    self._report(error)
            self._clock.call_soon(go_on)

        go_on()
