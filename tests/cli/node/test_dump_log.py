"""`kafkapy dump-log` on files that are whole, damaged, or something else."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from kafkapy.cli.main import main
from kafkapy.coordinator.registry import Registry
from kafkapy.group.records import KEY_CLASSES, written_version
from kafkapy.group.records.offsets import OffsetCommitKey, OffsetCommitValue
from kafkapy.protocol.batches.batch import NewRecord, build_batch
from kafkapy.txn.events import TransactionLogged
from kafkapy.txn.records import TransactionCodec
from kafkapy.txn.states import TransactionState
from tests.txn.samples import transaction


def _log(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    return str(path)


def _batch(offset: int) -> bytes:
    return bytes(build_batch([NewRecord(b"k", b"v", 1000)], base_offset=offset))


def test_a_damaged_log_is_shown_up_to_where_it_is_damaged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = _log(tmp_path, _batch(0) + _batch(1) + b"\xff" * 200)
    assert main(["dump-log", "--json", path]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row.get("base_offset") for row in rows] == [0, 1, None]
    assert f"from position {2 * len(_batch(0))} on" in rows[2]["error"]


def test_no_bytes_make_it_fall_over(tmp_path: Path) -> None:
    """Whole batches, then any three bytes changed."""
    rng = random.Random(7)
    whole = b"".join(_batch(offset) for offset in range(4))
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(3):
            data[rng.randrange(len(data))] = rng.randrange(256)
        assert main(["dump-log", "--records", _log(tmp_path, bytes(data))]) == 0


def test_a_name_that_is_no_offset_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "².index"
    path.write_bytes(b"\0" * 8)
    assert main(["dump-log", str(path)]) == 1
    assert "named by its first offset" in capfd.readouterr().err


def _records(path: Path, key: bytes, value: bytes | None) -> str:
    path.parent.mkdir()
    path.write_bytes(build_batch([NewRecord(key, value, 1000)]))
    return str(path)


def _shown(capfd: pytest.CaptureFixture[str], path: str) -> dict[str, Any]:
    assert main(["dump-log", "--records", "--json", path]) == 0
    shown: dict[str, Any] = json.loads(capfd.readouterr().out.splitlines()[1])
    return shown


def test_coordinator_records_have_the_names_of_their_fields(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    groups = Registry(KEY_CLASSES, written_version)
    offset = groups.encode(
        (
            OffsetCommitKey(group="g", topic="orders", partition=3),
            OffsetCommitValue(offset=7, metadata="", commit_timestamp=1000),
        )
    )
    row = _shown(capfd, _records(tmp_path / "__consumer_offsets-0" / "0.log", *offset))
    assert row["type"] == "OffsetCommitKey"
    assert row["record"]["key"] == {"group": "g", "topic": "orders", "partition": 3}
    assert row["record"]["value"]["offset"] == 7

    logged = TransactionLogged(transaction(TransactionState.ONGOING))
    encoded = TransactionCodec(lambda: 2).encode(logged)
    row = _shown(capfd, _records(tmp_path / "__transaction_state-0" / "0.log", *encoded))
    assert row["type"] == "TransactionLogged"
    told = row["record"]["transaction"]
    assert told["transactional_id"] == "tx"
    assert told["state"] == "ONGOING"
    assert told["partitions"] == [{"topic": "a", "partition": 0}]
