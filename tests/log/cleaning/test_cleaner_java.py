"""Apache Kafka's own dump tool reads what our cleaner has written."""

import re
from pathlib import Path

import pytest

from compat_tests import installation, oracle
from kafkapy.log.names import DELETED
from kafkapy.protocol.batches.batch import Codec
from tests.log.cleaning.kit import DIRECTORY, Partition, config, data_records

pytestmark = pytest.mark.java


def cleaned_twice() -> Partition:
    """Every codec, tombstones, transactions both ways, headers without records, horizons."""
    partition = Partition(config(segment_bytes=50_000))
    for turn in range(3):
        for codec in Codec:
            partition.write(
                *((f"{codec.name}-{key}", f"{turn}" * 30) for key in range(10)), codec=codec
            )
        partition.write((f"NONE-{turn}", None), pid=1)
        for pid, commit in ((7, True), (8, False)):
            partition.write((f"txn-{turn}", f"{pid}"), pid=pid, transactional=True)
            partition.end(pid, commit=commit)
        partition.roll()
    end = partition.clean()
    partition.clock.time += 6000
    partition.write(("last", "1"))
    partition.roll()
    partition.clean(end)
    return partition


def test_kafkas_dump_tool_reads_a_cleaned_log(
    tmp_path: Path, apache_kafka_jars: installation.Bundle
) -> None:
    partition = cleaned_twice()
    files = []
    for name in partition.names():
        if not name.endswith(DELETED) and "checkpoint" not in name:
            path = tmp_path / name
            path.write_bytes(partition.disk.read_file(f"{DIRECTORY}/{name}"))
            if path.stat().st_size and not name.endswith(".snapshot"):
                files.append(str(path))
    said = oracle.run_tool(
        "kafka-dump-log", "--print-data-log", "--deep-iteration", "--files", ",".join(files)
    )
    assert said.returncode == 0
    # Gaps are what compaction leaves; about anything else the tool is silent.
    complaints = [
        line
        for line in said.stderr.splitlines()
        if "is followed by" not in line and not line.startswith("Non-consecutive offsets")
    ]
    assert complaints == []
    assert "isvalid: false" not in said.stdout
    dumped = [
        (int(offset), key)
        for offset, key in re.findall(
            r"^\| offset: (\d+) .* key: (\S+) payload: ", said.stdout, re.M
        )
    ]
    ours = [
        (record.offset, (record.key or b"").decode())
        for record in data_records(partition.contents())
    ]
    assert dumped == ours
