"""Every case at every version, on both servers; a difference in an answer fails.

It needs Apache Kafka, so Java. `-k "fetch and v12"` picks, `-m records` picks an area.
"""

import struct
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from compat_tests import installation, targets
from compat_tests.conftest import address_of
from compat_tests.differ import (
    admin_cases,
    group_cases,
    list_cases,
    record_cases,
    share_cases,
    streams_cases,
)
from compat_tests.differ.cases import CASES, Case
from compat_tests.differ.differences import compared
from compat_tests.differ.side import Side
from compat_tests.served import is_served
from kafkapy.protocol.api_keys import ApiKey

pytestmark = [pytest.mark.xdist_group("differ"), pytest.mark.slow]
MODULES = (
    record_cases,
    admin_cases,
    group_cases,
    list_cases,
    share_cases,
    streams_cases,
)  # importing them fills CASES

ROWS = [
    pytest.param(case, version, id=f"{case.name} v{version}", marks=getattr(pytest.mark, case.area))
    for case in CASES
    for version in case.versions
]


@pytest.fixture(scope="module")
def both(request: pytest.FixtureRequest) -> dict[str, str]:
    """The addresses of both servers."""
    try:
        return {name: address_of(request.config, name) for name in targets.TARGETS}
    except installation.Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize(("case", "version"), ROWS)
def test_both_servers_answer_alike(
    both: dict[str, str],
    case: Case,
    version: int,
    record_property: Callable[[str, object], None],
) -> None:
    if not is_served(case.api_key):
        pytest.skip(f"kafkapy does not serve {case.api_key.camel_name} yet")
    name = f"d{uuid.uuid4().hex[:10]}"
    heard = {}
    for target, address in both.items():
        side = Side(address, case.api_key, version, name)
        try:
            case.play(side)
            heard[target] = [(label, side.plain(answer)) for label, answer in side.heard]
        finally:
            side.close()
    record_property("answers compared", len(heard[targets.APACHE]))
    found = compared(case.name, heard[targets.APACHE], heard[targets.KAFKAPY])
    assert not found, "\n".join(["", *found])


HOSTILE: dict[str, bytes] = {
    "an unknown api key": struct.pack(">ihhih", 10, 999, 0, 1, -1),
    "a negative api key": struct.pack(">ihhih", 10, -5, 0, 1, -1),
    "a version that was never": struct.pack(">ihhih", 10, ApiKey.METADATA, 99, 1, -1),
    "a version no longer served": struct.pack(">ihhih", 10, ApiKey.FETCH, 3, 1, -1),
    "ApiVersions of the future": struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 77, 1, -1),
    "a body that ends too early": struct.pack(">ihhih", 10, ApiKey.METADATA, 5, 1, -1),
    "an array of two thousand million": struct.pack(
        ">ihhihi", 14, ApiKey.METADATA, 1, 1, -1, 2_000_000_000
    ),
    "a string longer than the frame": struct.pack(
        ">ihhihih", 16, ApiKey.METADATA, 1, 1, -1, 1, 30_000
    ),
    "a frame of nothing": struct.pack(">i", 0),
    "a negative size": struct.pack(">i", -5),
    "a size over the limit": struct.pack(">ihhih", 2_000_000_000, 3, 1, 1, -1),
    "a client id longer than the frame": struct.pack(">ihhih", 10, 3, 1, 1, 9999),
    "a request that only controllers serve": struct.pack(
        ">ihhih", 10, ApiKey.BROKER_HEARTBEAT, 0, 1, -1
    ),
    "a TLS greeting": bytes.fromhex("1603010200010001fc0303") + b"x" * 40,
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.records
@pytest.mark.parametrize("what", HOSTILE)
def test_both_servers_treat_hostile_bytes_alike(
    both: dict[str, str], what: str, record_property: Callable[[str, object], None]
) -> None:
    heard: list[Any] = []
    for address in both.values():
        side = Side(address, ApiKey.METADATA, 0, "hostile")
        side.hear(HOSTILE[what])
        heard += [answer for _, answer in side.heard]
        side.close()
    record_property("answers compared", 1)
    assert heard[0] == heard[1]
