"""Apache Kafka reads what we format and write, and we read what it made of that."""

import re
import time
from pathlib import Path

import pytest

from compat_tests import installation, oracle
from kafkapy.core.time import Instant
from kafkapy.kraft.log.snapshotting import SnapshotSettings
from kafkapy.kraft.metadata_quorum import MetadataQuorum
from kafkapy.kraft.quorum.voters import ReplicaKey, VoterAddress, parse_voters
from kafkapy.kraft.quorum_facts import MetadataQuorumSettings
from kafkapy.kraft.records.metadata import ConfigRecord, PartitionRecord, TopicRecord
from kafkapy.kraft.storage.adoption import adopt
from kafkapy.kraft.storage.bootstrap import activation_records
from kafkapy.kraft.storage.format import format_directories
from kafkapy.kraft.uuids import new_uuid
from kafkapy.server.disk.real_disk import RealDisk
from kafkapy.sim.world.clock import SimClock
from kafkapy.sim.world.rng import SimRng

pytestmark = pytest.mark.java

ADDRESS = VoterAddress("CONTROLLER", "127.0.0.1", 9093)
TOPIC = new_uuid(SimRng("topic"))


class Home:
    """A directory, and a quorum of one on it."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.disk = RealDisk()
        self.rng = SimRng(str(path))
        self.clock = SimClock(Instant(int(time.time() * 1000)))

    def format(self, *, dynamic: bool) -> None:
        format_directories(
            self.disk,
            self.rng,
            self.clock.now(),
            [self.path],
            cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
            node_id=1,
            standalone=ADDRESS if dynamic else None,
        )

    def quorum(self, snapshots: SnapshotSettings | None = None) -> MetadataQuorum:
        found = adopt(
            self.disk, self.rng, self.clock.now(), [self.path], metadata_path=self.path, node_id=1
        )
        assert found.cluster_id is not None
        settings = MetadataQuorumSettings(
            cluster_id=found.cluster_id,
            local=ReplicaKey(1, found.directory_ids[self.path]),
            endpoints=(ADDRESS,),
            configured_voters=parse_voters("1@127.0.0.1:9093", "CONTROLLER"),
            snapshots=snapshots or SnapshotSettings(),
        )
        quorum = MetadataQuorum(self.disk, self.clock, self.rng, self.path, settings)

        def lead(image: object, bootstrap: object) -> None:
            first = activation_records(quorum.image, bootstrap, 1)  # type: ignore[arg-type]  # as given
            if first:
                quorum.append(first)

        quorum.on_lead = lead
        quorum.start()
        self.clock.settle()
        assert quorum.is_active
        return quorum

    def write_topic(self, quorum: MetadataQuorum) -> None:
        directory = quorum.settings.local.directory_id
        assert directory is not None
        quorum.append(
            [
                TopicRecord(name="ours", topic_id=TOPIC),
                ConfigRecord(
                    resource_type=2, resource_name="ours", name="retention.ms", value="1234567"
                ),
                PartitionRecord(
                    partition_id=0,
                    topic_id=TOPIC,
                    replicas=(1,),
                    isr=(1,),
                    leader=1,
                    leader_epoch=0,
                    partition_epoch=0,
                    directories=(directory,),
                ),
            ],
        )
        self.clock.settle()

    def close(self, quorum: MetadataQuorum) -> None:
        quorum.close(lambda failure: None)
        self.clock.settle()


def dumped(path: Path) -> list[str]:
    done = oracle.run_tool("kafka-dump-log", "--cluster-metadata-decoder", "--files", str(path))
    assert done.returncode == 0, done.stderr
    assert "isvalid: false" not in done.stdout
    found = re.findall(r'"type":"(\w+)"|\] (\w+):? \{"version', done.stdout)
    return [metadata or control for metadata, control in found]


def test_the_dump_tool_reads_our_log_and_our_snapshot(
    tmp_path: Path, apache_kafka_jars: installation.Bundle
) -> None:
    home = Home(tmp_path / "data")
    home.format(dynamic=True)
    quorum = home.quorum(SnapshotSettings(max_new_record_bytes=600))
    home.write_topic(quorum)
    latest = quorum.log.latest_snapshot
    assert latest is not None
    home.close(quorum)
    log = tmp_path / "data" / "__cluster_metadata-0"
    features = ["FEATURE_LEVEL_RECORD"] * 6
    topic = ["TOPIC_RECORD", "CONFIG_RECORD", "PARTITION_RECORD"]
    assert dumped(log / "00000000000000000000.log") == [
        *("LeaderChange", "KRaftVersion", "KRaftVoters", "BEGIN_TRANSACTION_RECORD"),
        *features,
        *("CONFIG_RECORD", "END_TRANSACTION_RECORD"),
        *topic,
    ]
    assert dumped(log / latest.file_name) == [
        *("SnapshotHeader", "KRaftVersion", "KRaftVoters"),
        *features,
        *("TOPIC_RECORD", "PARTITION_RECORD", "CONFIG_RECORD", "CONFIG_RECORD"),
        "SnapshotFooter",
    ]


@pytest.mark.slow
def test_a_node_of_kafka_lives_in_our_directory_and_we_in_its(
    tmp_path: Path, apache_kafka_jars: installation.Bundle
) -> None:
    home = Home(tmp_path / "data")
    home.format(dynamic=False)
    # Only the snapshot is left of what we wrote: Kafka has to start from that.
    quorum = home.quorum(SnapshotSettings(max_new_record_bytes=1, max_retention_bytes=0))
    home.write_topic(quorum)
    assert quorum.log.start_offset == quorum.log.end_offset
    epoch = quorum.leader_epoch
    home.close(quorum)
    with oracle.apache_kafka(tmp_path / "node", data=tmp_path / "data") as kafka:
        server = ("--bootstrap-server", kafka.bootstrap)
        shown = oracle.run_tool("kafka-topics", *server, "--describe", "--topic", "ours").stdout
        assert "retention.ms=1234567" in shown
        assert re.search(r"Partition: 0\s+Leader: 1\s+Replicas: 1\s+Isr: 1", shown)
        made = oracle.run_tool("kafka-topics", *server, "--create", "--topic", "theirs")
        assert made.returncode == 0, made.stderr
    again = home.quorum()
    assert again.leader_epoch > epoch + 1
    assert set(again.image.topics_by_name) == {"ours", "theirs"}
    home.close(again)
