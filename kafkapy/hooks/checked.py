"""What a hook returned: a record that can be written, or no answer."""

from typing import Any, Final

from kafkapy.hooks.api import Record
from kafkapy.hooks.guarded import Guarded

#: Whatever the first of a batch has, differences to it fit their 64 bits.
LATEST_MS: Final = 2**62


def checked(given: Any, record: Record, hook: Guarded) -> Record:
    """HookFailed unless it is a record that can be written. Its place is the one it had."""
    if not isinstance(given, Record):
        what = f"{type(given).__name__} instead of a Record"
    elif not (_is_bytes(given.key) and _is_bytes(given.value)):
        what = "a key or value that is not bytes"
    elif type(given.timestamp) is not int or not -1 <= given.timestamp <= LATEST_MS:
        what = "a timestamp that is none"
    elif not (isinstance(given.headers, tuple) and all(map(_is_header, given.headers))):
        what = "headers that are not a tuple of (str, bytes)"
    else:
        return given._replace(offset=record.offset, attributes=record.attributes)
    raise hook.failed(f"it returned {what}", f"it returned {what}")


def _is_bytes(value: object) -> bool:
    return value is None or type(value) is bytes


def _is_header(one: object) -> bool:
    if not isinstance(one, tuple) or len(one) != 2 or type(one[0]) is not str:
        return False
    try:
        one[0].encode()
    except UnicodeEncodeError:
        return False
    return _is_bytes(one[1])
