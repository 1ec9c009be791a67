"""What a log stores: its segments, in one directory of one disk.

new --roll--> sealed --replaced, removed--> .deleted --later--> gone
"""

from collections.abc import Sequence

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Clock, Disk, Rng, Timer
from kafkapy.core.time import Instant, later
from kafkapy.log.config import LogConfig
from kafkapy.log.events import LogEvents
from kafkapy.log.reading import Positions
from kafkapy.log.recovery import Loaded, Opening
from kafkapy.log.segments.segment import Segment


class Storage:
    """Of one log. `unflushed` are the sealed segments whose index files may not be on the disk
    yet, ascending."""

    __slots__ = (
        "_rng",
        "_timers",
        "clock",
        "config",
        "directory",
        "disk",
        "events",
        "is_closed",
        "positions",
        "segments",
        "unflushed",
    )

    def __init__(self, clock: Clock, rng: Rng, opening: Opening, loaded: Loaded) -> None:
        self.disk: Disk = opening.disk
        self.clock = clock
        self._rng = rng
        self.directory: str = opening.directory
        self.config: LogConfig = opening.config
        self.segments = loaded.segments
        self.positions = Positions()
        self.events = LogEvents()
        self.is_closed = False
        self.unflushed: list[Segment] = []
        if not loaded.recovered.is_clean:
            self.unflushed = self.segments.starting_at(loaded.recovery_point)[:-1]
        self._timers: list[Timer] = []
        self.segments.active.roll_jitter_ms = self._jitter_ms()

    def new_segment(self, base_offset: int, now: Instant) -> Segment:
        segment = Segment.create(self.disk, self.directory, base_offset, now)
        segment.roll_jitter_ms = self._jitter_ms()
        return segment

    def roll(self, base_offset: int, now: Instant) -> Segment:
        """Seal the active segment and go on in a new one."""
        old = self.segments.active
        old.seal()
        segment = self.new_segment(base_offset, now)
        self.segments.add(segment)
        self.unflushed.append(old)
        self.positions.clear()
        return segment

    def _jitter_ms(self) -> int:
        """So that partitions created together do not all roll together."""
        most = min(self.config.segment_jitter_ms, self.config.segment_ms)
        return self._rng.below(most) if most > 0 else 0

    # -- replacing and removing

    def replace(self, new: Sequence[Segment], old: Sequence[Segment]) -> None:
        """In memory: `new` (durable) in the place of `old`."""
        self.segments.replace(new, old)
        active = self.segments.active
        self.unflushed = [one for one in self.unflushed if one not in old and one is not active]

    def remove(self, segments: Sequence[Segment]) -> None:
        """Now, and durably: else they might be back after a crash, behind a hole."""
        for segment in reversed(segments):
            segment.remove()
        self.disk.flush_directory(self.directory)

    def remove_later(self, segments: Sequence[Segment]) -> None:
        """Consumers may be reading them: rename now, unlink after file.delete.delay.ms."""
        for segment in segments:
            segment.rename(".deleted")

        def remove() -> None:
            self._timers.remove(timer)
            try:
                for segment in segments:
                    segment.remove()
            except DiskFailed as error:
                self.report(error)

        when = later(self.clock.now(), self.config.file_delete_delay_ms)
        timer = self.clock.call_at(when, remove)
        self._timers.append(timer)

    def swap(self, cleaned: Sequence[Segment], old: Sequence[Segment]) -> None:
        """Put cleaned segments (sealed, flushed, state ".cleaned") in the place of `old`."""
        # What is below the recovery point may have gaps, what is above it may not.
        self.events.on_replacing()
        for segment in reversed(cleaned):
            segment.rename(".swap")
        self.replace(cleaned, old)
        self.remove_later(old)
        for segment in cleaned:
            segment.rename("")

    # -- the directory and the end

    def report(self, error: DiskFailed | None) -> None:
        # Once closed its directory may be renamed or gone, and nobody minds; nor does who
        # moved meanwhile (`moved` writes anew what was on its way to the old place).
        is_ours = error is not None and error.path.startswith(f"{self.directory}/")
        if error is not None and is_ours and not self.is_closed:
            self.events.on_disk_failed(error)

    def moved(self, directory: str) -> None:
        self.directory = directory
        for segment in self.segments:
            segment.directory = directory

    def drop_idle_memory(self) -> None:
        for segment in self.segments:
            segment.drop_idle_indexes()

    def cancel_timers(self) -> None:
        """What waits to be unlinked is found by the next start."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def close(self) -> None:
        self.is_closed = True
        self.cancel_timers()
        for segment in self.segments:
            segment.close()
