"""A response that is written in pages has the bytes that it has when it is written at once."""

from typing import Any

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, response_head
from kafkapy.protocol.messages import encode_response
from kafkapy.protocol.pages import Pages

LIST: int = ApiKey.LIST_GROUPS.value


def rows_of(count: int) -> list[dict[str, Any]]:
    return [
        {
            "group_id": f"group-{number}-ä",
            "protocol_type": "consumer",
            "group_state": "Stable",
            "group_type": "classic",
        }
        for number in range(count)
    ]


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 300, 16_383, 16_384])
def test_pages_make_the_same_bytes(version: int, count: int) -> None:
    rows = rows_of(count)
    fields = {"throttle_time": 0, "error_code": 15}
    pages = Pages(LIST, version, "groups")
    pages.add([])
    for begin in range(0, count, 250):
        pages.add(rows[begin : begin + 250])
    at_once = encode_response(LIST, version, {**fields, "groups": rows})
    assert pages.frame(7, fields) == frame(response_head(LIST, version, 7), at_once)
