"""`kafkapy groups` about a share group, which was told where to begin and has no member yet."""

import json

import pytest

from kafkapy.cli.client import Client
from kafkapy.cli.main import main
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.testing import Broker


def test_a_share_group_is_described_and_not_taken_for_another(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with Broker() as kafka:
        kafka.create_topic("jobs")
        for number in range(5):
            kafka.produce("jobs", str(number))
        where = ("--bootstrap-server", kafka.bootstrap)
        assert main(["groups", "list", *where]) == 0
        rows = [{"partition_index": 0, "start_offset": 2}]
        topics = [{"topic_name": "jobs", "partitions": rows}]
        kafka.wait_for("jobs", 5)
        with Client(kafka.bootstrap) as client:
            body = {"key_type": 0, "coordinator_keys": ["workers"]}
            while client.ask(ApiKey.FIND_COORDINATOR, body).coordinators[0].error_code:
                pass
            altered = {"group_id": "workers", "topics": topics}
            answer = client._ask(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, altered)
            assert answer.responses[0].partitions[0].error_code == 0, answer
        capfd.readouterr()
        assert main(["groups", "describe", "workers", "--json", *where]) == 0
        (row,) = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
        assert row == {"topic": "jobs", "partition": 0, "start": 2, "lag": 3}
        assert main(["groups", "describe", "workers", "--members", "--json", *where]) == 0
        assert main(["groups", "reset-offsets", "workers", "--to-earliest", *where]) == 1
        assert "share group" in capfd.readouterr().err
