import subprocess
import sys

import pytest

from kafkapy.broker.requests.apis import APIS, Api, apis_on, find_api
from kafkapy.protocol.api_keys import ApiKey


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key.name)
def test_every_row_has_a_handler(api: Api) -> None:
    assert callable(api.handle)
    assert api.min_version <= api.max_version


def test_an_api_is_served_only_where_the_table_says() -> None:
    assert find_api(ApiKey.PRODUCE, is_controller=False) is not None
    assert find_api(ApiKey.PRODUCE, is_controller=True) is None
    assert find_api(ApiKey.BROKER_HEARTBEAT, is_controller=False) is None


def test_the_table_is_in_order_and_names_no_api_twice() -> None:
    for is_controller in (False, True):
        keys = [api.key for api in apis_on(is_controller=is_controller)]
        assert keys == sorted(set(keys))


def test_the_table_imports_no_handler() -> None:
    """In a process of its own: others have used handlers in this one."""
    code = (
        "import sys, kafkapy.broker.requests.apis\n"
        "print([one for one in sys.modules if one.startswith('kafkapy.broker.handlers')])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
