"""Wait for several flushes with one callback."""

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Flushed


def join(count: int, then: Flushed) -> Flushed:
    """A callback for each of `count` flushes: `then` runs after the last, with the first
    failure if there was one."""
    assert count > 0, "nothing to wait for"
    left = count
    failure: DiskFailed | None = None

    def one_done(error: DiskFailed | None) -> None:
        nonlocal left, failure
        left -= 1
        failure = failure or error
        if left == 0:
            then(failure)

    return one_done
