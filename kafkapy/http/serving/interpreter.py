"""Who gets the interpreter when: the node's thread at once, HTTP's when that one does not need it.

A thread that wants the interpreter waits for `sys.getswitchinterval()`, and then asks who has it to
give it up. How long that wait really is the kernel decides: the interval and up to the thread's
timer slack (50 us unless set), which is each thread's own. So the interval is made short, for the
node's thread to wait no longer than that; and HTTP's thread, whose slack is long, takes the
interpreter when the node's waits for the network or the disk, and hardly ever in the midst of a
request. What that does to acknowledgements: docs/decisions/0008.
"""

import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

SWITCH_SECONDS: Final = 0.00002
SOON_NS: Final = 1_000
LATE_NS: Final = 1_000_000


def prefer_this_thread() -> None:
    """The caller is the node's thread."""
    sys.setswitchinterval(SWITCH_SECONDS)
    _set_slack(SOON_NS)


def let_others_go_first() -> None:
    """The caller is HTTP's thread."""
    _set_slack(LATE_NS)


def _set_slack(nanoseconds: int) -> None:
    # A kernel or a container that does not let us: everything works, and waits 50 us longer.
    with suppress(OSError):
        place = Path(f"/proc/{threading.get_native_id()}/timerslack_ns")
        place.write_text(str(nanoseconds), encoding="ascii")
