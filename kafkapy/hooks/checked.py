"""What a hook returned: a record that can be written, or no answer."""

from typing import Any, Final

from kafkapy.hooks.api import Headers, Record
from kafkapy.hooks.guarded import Guarded, kind_of

#: Whatever the first of a batch has, differences to it fit their 64 bits.
LATEST_MS: Final = 2**62


def checked(given: Any, record: Record, hook: Guarded) -> Record:
    """HookFailed unless it is a record that can be written. Its place is the one it had."""
    if type(given) is not Record:  # nor a class made of it, which may answer anything
        what = f"{kind_of(given)} instead of a Record"
    elif not (_is_bytes(given.key) and _is_bytes(given.value)):
        what = "a key or value that is not bytes"
    elif type(given.timestamp) is not int or not -1 <= given.timestamp <= LATEST_MS:
        what = "a timestamp that is none"
    elif (headers := _headers(given.headers, record.headers)) is None:
        what = "headers that are not a tuple of (str, bytes)"
    else:
        return Record(
            record.offset, given.timestamp, given.key, given.value, headers, record.attributes
        )
    raise hook.failed(f"it returned {what}", f"it returned {what}")


def _is_bytes(value: object) -> bool:
    return value is None or type(value) is bytes


def _headers(given: object, before: Headers) -> Headers | None:
    """Plain tuples of what is in them: a class made of tuple may answer something else each time
    it is asked."""
    if given is before:
        return before
    headers = []
    for one in _plain(given) or ():
        header = _plain(one)
        if header is None or len(header) != 2 or type(header[0]) is not str:
            return None
        if not _is_bytes(header[1]):
            return None
        try:
            header[0].encode()
        except UnicodeEncodeError:
            return None
        headers.append((header[0], header[1]))
    return None if _plain(given) is None else tuple(headers)


def _plain(given: object) -> tuple[Any, ...] | None:
    if not issubclass(type(given), tuple):
        return None
    return tuple.__getitem__(given, slice(None))  # type: ignore[call-overload, no-any-return]
