"""Objects of JSON that come one after another, of a body that may have no end."""

import json
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator
from typing import Any, Final

from kafkapy.http.problems import Problem

_DECODER: Final = json.JSONDecoder()
_BLANK: Final = " \t\r\n"
# A literal that is cut off (`fals`, `\\u12`) may be that many letters from the end.
_CUT_OFF: Final = 8


class Unread:
    """What has come and is not whole yet; at most `most` letters of it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._text = ""
        self._decode = getincrementaldecoder("utf-8")().decode

    def take(self, data: bytes, *, is_end: bool = False) -> list[Any]:
        """What is whole now; Problem for what can never be."""
        try:
            self._text += self._decode(data, is_end)
        except UnicodeDecodeError:
            raise Problem(400, "the body is not UTF-8") from None
        found, at = [], 0
        while (at := _after_blanks(self._text, at)) < len(self._text):
            try:
                value, at = _DECODER.raw_decode(self._text, at)
            except RecursionError:
                raise Problem(400, "a record is too deep") from None
            except ValueError as bad:
                if is_end or not _is_cut_off(bad, self._text):
                    raise Problem(400, f"a record is not JSON: {bad}") from None
                break
            found.append(value)
        self._text = self._text[at:]
        if len(self._text) > self._most:
            raise Problem(413, f"a record of more than {self._most} letters")
        return found


async def parsed(
    body: AsyncIterator[bytes], most: int
) -> AsyncIterator[tuple[list[Any], Problem | None]]:
    """Those that came together; the last time maybe with what was wrong."""
    unread = Unread(most)
    try:
        async for data in body:
            found = unread.take(data)
            if found:
                yield found, None
        yield unread.take(b"", is_end=True), None
    except Problem as wrong:
        yield [], wrong


def _after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _is_cut_off(bad: ValueError, text: str) -> bool:
    if not isinstance(bad, json.JSONDecodeError):
        return False
    return bad.msg.startswith("Unterminated string") or bad.pos >= len(text) - _CUT_OFF
