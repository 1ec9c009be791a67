"""A transaction that hangs: a producer that writes without telling the coordinator where.

No client does that, and no broker lets it; this one is asked to look away
(transaction.partition.verification.enable=false), and the client is ours.
"""

from typing import Any

from compat_tests.waiting import wait_for
from kafkapy.cli.client import Client
from kafkapy.cli.finding import TRANSACTION, coordinator
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.batches.batch import NewRecord, build_batch

LOOK_AWAY = {"transaction.partition.verification.enable": "false"}
# Long before any transaction of now can have begun.
LONG_AGO_MS = 1_600_000_000_000
_PRODUCE_VERSION = 11  # one newer would add the partition by itself


def leave_hanging(broker: str, topic: str, transactional_id: str) -> tuple[int, int]:
    """Write one record of such a transaction to partition 0: its producer id and offset."""
    who = {
        "transactional_id": transactional_id,
        "transaction_timeout": 60_000,
        "producer_id": -1,
        "producer_epoch": -1,
    }

    def start() -> Any:
        with coordinator(broker, TRANSACTION, transactional_id) as client:
            answer = client.ask(ApiKey.INIT_PRODUCER_ID, who)
        return None if answer.error_code else answer

    started = wait_for("a coordinator that has loaded", start)
    batch = build_batch(
        [NewRecord(None, b"hanging", LONG_AGO_MS)],
        producer_id=started.producer_id,
        producer_epoch=started.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    body = {
        "transactional_id": transactional_id,
        "acks": -1,
        "timeout": 30_000,
        "topic_data": [{"name": topic, "partition_data": [{"index": 0, "records": batch}]}],
    }
    with Client(broker) as client:
        answer = client._ask(ApiKey.PRODUCE, _PRODUCE_VERSION, body)
    row = answer.responses[0].partition_responses[0]
    assert row.error_code == 0, row
    return started.producer_id, row.base_offset
