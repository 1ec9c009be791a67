"""What a log tells its owner."""

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Callback, Flushed


def nothing(_: DiskFailed | None) -> None:
    """Who waits for no flush: of a failure, `on_disk_failed` tells."""


def _do_nothing() -> None:
    pass


class LogEvents:
    """`on_disk_failed` hears of failures that no caller is waiting for,
    `on_recovery_point_lowered` before anything is cut off, `on_truncated` after it,
    `on_replacing` before segments are replaced by ones with gaps."""

    __slots__ = (
        "on_disk_failed",
        "on_recovery_point_lowered",
        "on_replacing",
        "on_truncated",
    )

    def __init__(self) -> None:
        self.on_disk_failed: Flushed = nothing
        self.on_recovery_point_lowered: Callback = _do_nothing
        self.on_replacing: Callback = _do_nothing
        self.on_truncated: Callback = _do_nothing
