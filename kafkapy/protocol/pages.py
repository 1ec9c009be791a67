"""A response that ends with one long array, written some rows at a time.

    header | fields | count | row row ... | row row ... | 00 if flexible
                              one page      another

To write a hundred thousand rows in one go would hold up everybody else. A page is what the
encoder makes of a response of its rows alone, without what stands around them; the last page has
what was known last of all, such as the error code.
"""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any, Final

from kafkapy.protocol.framing import frame, response_head
from kafkapy.protocol.messages import encode_response, is_flexible
from kafkapy.protocol.varint import uvarint

_INT32: Final = Struct(">i")


class Pages:
    """`array` is the last field of the response to (api_key, version)."""

    def __init__(self, api_key: int, version: int, array: str) -> None:
        self._api_key = api_key
        self._version = version
        self._array = array
        self._is_flexible = is_flexible(api_key, version)
        self._pages: list[bytes] = []
        self._count = 0
        self._before = self._size_before()

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            body = encode_response(self._api_key, self._version, {self._array: rows})
            begin = self._before + len(self._counted(len(rows)))
            self._pages.append(body[begin : len(body) - self._is_flexible])
            self._count += len(rows)

    def frame(self, correlation_id: int, fields: Mapping[str, Any]) -> bytes:
        """The whole response; `fields` are all but the array."""
        body = encode_response(self._api_key, self._version, {**fields, self._array: ()})
        return frame(
            response_head(self._api_key, self._version, correlation_id),
            body[: self._before],
            self._counted(self._count),
            *self._pages,
            b"\0" if self._is_flexible else b"",
        )

    def _size_before(self) -> int:
        empty = encode_response(self._api_key, self._version, {self._array: ()})
        return len(empty) - len(self._counted(0)) - self._is_flexible

    def _counted(self, rows: int) -> bytes:
        return uvarint(rows + 1) if self._is_flexible else _INT32.pack(rows)
