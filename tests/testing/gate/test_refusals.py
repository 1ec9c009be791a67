"""Refusals have the shape of their API: they encode, and the code stands where it belongs."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.broker.requests.apis import APIS, Api
from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
)
from kafkapy.testing.gate.refusals import refuse

CODE = ErrorCode.COORDINATOR_NOT_AVAILABLE


def refused(api: ApiKey, version: int, body: Mapping[str, Any]) -> Any:
    request = decode_request(api, version, memoryview(encode_request(api, version, body)))
    answer = encode_response(api, version, refuse(api, version, request, CODE))
    return decode_response(api, version, memoryview(answer))


@pytest.mark.parametrize("api", [one for one in APIS if one.on_broker], ids=lambda one: one.key)
def test_the_newest_version_of_every_api_can_be_refused(api: Api) -> None:
    answer = refuse(api.key, api.max_version, SimpleNamespace(), CODE)
    assert encode_response(api.key, api.max_version, answer)


def test_an_offset_commit_is_refused_per_partition() -> None:
    partition = {"partition_index": 3, "committed_offset": 7, "committed_metadata": ""}
    body = {
        "group_id": "g",
        "generation_id_or_member_epoch": 1,
        "member_id": "m",
        "group_instance_id": None,
        "topics": [{"name": "orders", "partitions": [partition]}],
    }
    (topic,) = refused(ApiKey.OFFSET_COMMIT, 9, body).topics
    assert topic.name == "orders"
    assert [(one.partition_index, one.error_code) for one in topic.partitions] == [(3, CODE)]


def test_keys_of_a_list_are_named_in_the_answer() -> None:
    body = {"key_type": 0, "coordinator_keys": ["g", "h"]}
    rows = refused(ApiKey.FIND_COORDINATOR, 6, body).coordinators
    assert [(one.key, one.error_code) for one in rows] == [("g", CODE), ("h", CODE)]


@pytest.mark.parametrize("version", [3, 5])
def test_a_transactions_partitions_are_refused_by_index(version: int) -> None:
    topics = [{"name": "orders", "partitions": [0, 4]}]
    if version == 3:
        prefix = "v3_and_below_"
        named = {"transactional_id": "t", "producer_id": 1, "producer_epoch": 0, "topics": topics}
        body: dict[str, Any] = {prefix + name: value for name, value in named.items()}
        answer = refused(ApiKey.ADD_PARTITIONS_TO_TXN, version, body)
        (topic,) = answer.results_by_topic_v3_and_below
    else:
        row = {
            "transactional_id": "t",
            "producer_id": 1,
            "producer_epoch": 0,
            "verify_only": False,
            "topics": topics,
        }
        answer = refused(ApiKey.ADD_PARTITIONS_TO_TXN, version, {"transactions": [row]})
        (topic,) = answer.results_by_transaction[0].topic_results
    assert topic.name == "orders"
    rows = [(one.partition_index, one.partition_error_code) for one in topic.results_by_partition]
    assert rows == [(0, CODE), (4, CODE)]
