"""What a test asks of groups while an application uses them."""

from collections.abc import Mapping
from typing import Any

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker
from kafkapy.testing.asking.groups import committed


def test_a_group_that_is_used_for_the_first_time_while_it_is_asked_for() -> None:
    """The topic of groups comes after the answer that nobody coordinates them."""
    with Broker() as kafka:
        asked = []

        def ask(api: ApiKey, version: int, body: Mapping[str, Any]) -> Any:
            answer = kafka._ask(api, version, body)
            asked.append(api)
            if api is ApiKey.OFFSET_FETCH:
                find = {"key_type": 0, "coordinator_keys": ["billing"]}
                while kafka._ask(ApiKey.FIND_COORDINATOR, 4, find).coordinators[0].error_code:
                    pass
            return answer

        assert committed(ask, "billing") == {}
        assert ApiKey.OFFSET_FETCH in asked
