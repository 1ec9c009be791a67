"""Apache Kafka as the oracle: start one, stop it, run its tools.

    with apache_kafka(tmp_path) as kafka:
        run_tool("kafka-topics", "--bootstrap-server", kafka.bootstrap, "--list")

A node is a quorum of one (broker and controller in a process) on free loopback ports. It
is ready when it answers requests; nothing here waits for a time.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from compat_tests.installation import (
    Bundle,
    log4j_properties,
    require,
)
from compat_tests.processes import Process
from compat_tests.waiting import answers_kafka, free_port, wait_for
from kafkapy.broker.config.replicated import of_own_topics

CLUSTER_ID = "kafkapyOracleCluster01"  # any 16 bytes in base64url without padding
_START_PATIENCE_S = 60.0

# The shell scripts of a Kafka distribution, by the class each of them starts. The jars of
# the Maven registry come without the scripts.
TOOLS = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-e2e-latency": "org.apache.kafka.tools.EndToEndLatency",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-metadata-shell": "org.apache.kafka.shell.MetadataShell",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-replica-verification": "org.apache.kafka.tools.ReplicaVerificationTool",
    "kafka-share-consumer-perf-test": "org.apache.kafka.tools.ShareConsumerPerformance",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-share-consumer": "org.apache.kafka.tools.VerifiableShareConsumer",
    "kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
}

# A node alone cannot place three replicas of its internal topics; a test should not wait
# for a group to gather.
NODE_PROPERTIES = {
    **of_own_topics(brokers=1),
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}


def java(bundle: Bundle, *, archive: str = "tools", heap: str = "256m") -> list[str]:
    """The start of a command line: java, its quick-start options and the class path."""
    command = ["java", f"-Xmx{heap}", f"-Dlog4j2.configurationFile={log4j_properties(bundle)}"]
    if archive == "tools":
        command.append("-XX:TieredStopAtLevel=1")  # it ends before a better compiler pays
    classes = bundle.directory / f"{archive}.jsa"
    if classes.exists():
        command += [f"-XX:SharedArchiveFile={classes}", "-Xshare:auto", "-Xlog:cds=off"]
        command += ["-Xlog:cds+dynamic=off"]
    return [*command, "-cp", bundle.class_path]


def tool_command(name: str, *arguments: str) -> list[str]:
    """The command line of one of Apache Kafka's tools, by its name or by its class."""
    return [*java(require()), TOOLS.get(name, name), *arguments]


def run_tool(
    name: str, *arguments: str, stdin: str = "", timeout_s: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end; what it said is in `.stdout` and `.stderr`."""
    return subprocess.run(
        tool_command(name, *arguments),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


class ApacheKafka:
    """One node of Apache Kafka with its data under `directory`."""

    def __init__(
        self,
        directory: Path,
        *,
        properties: Mapping[str, str] | None = None,
        port: int | None = None,
        data: Path | None = None,
        node_id: int = 1,
        jvm_options: Sequence[str] = (),
        outlives_us: bool = False,
        heap: str = "512m",
    ) -> None:
        self.directory = directory
        self.data = data if data is not None else directory / "data"
        self.node_id = node_id
        self._properties = dict(properties or {})
        self._port = port
        self._jvm_options = jvm_options
        self._outlives_us = outlives_us
        self._heap = heap
        self._process: Process | None = None

    @property
    def port(self) -> int:
        assert self._port is not None, "not started"
        return self._port

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def log(self) -> Path:
        return self.directory / "server.log"

    def start(self) -> None:
        """Format the data directory if it is new, start, and return once it answers."""
        bundle = require()
        self.directory.mkdir(parents=True, exist_ok=True)
        if self._port is None:
            self._port = free_port()
        configuration = self.directory / "server.properties"
        settings = self.settings(controller_port=free_port())
        configuration.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        if not (self.data / "meta.properties").exists():
            self._format(configuration)
        runtime, *options = java(bundle, archive="server", heap=self._heap)
        command = [runtime, *self._jvm_options, *options, "kafka.Kafka", str(configuration)]
        self._process = Process(command, log=self.log, outlives_us=self._outlives_us)
        wait_for("Apache Kafka answers", self._is_ready, timeout_s=_START_PATIENCE_S, every_s=0.1)

    def stop(self, *, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.stop(how=how)
            self._process = None

    def settings(self, *, controller_port: int) -> dict[str, str]:
        """The server.properties that it starts with."""
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},"
            f"CONTROLLER://127.0.0.1:{controller_port}",
            "controller.quorum.voters": f"{self.node_id}@127.0.0.1:{controller_port}",
            "log.dirs": str(self.data),
            **NODE_PROPERTIES,
            **self._properties,
        }

    def _format(self, configuration: Path) -> None:
        arguments = ["format", "-t", CLUSTER_ID, "-c", str(configuration)]
        done = run_tool("kafka-storage", *arguments)
        if done.returncode != 0:
            raise RuntimeError(f"Apache Kafka did not format {self.data}: {done.stderr}")

    def _is_ready(self) -> bool:
        assert self._process is not None
        if not self._process.is_running:
            raise RuntimeError(f"Apache Kafka ended at its start:\n{self._process.log_tail()}")
        return answers_kafka("127.0.0.1", self.port)


@contextmanager
def apache_kafka(
    directory: Path,
    *,
    properties: Mapping[str, str] | None = None,
    port: int | None = None,
    data: Path | None = None,
    node_id: int = 1,
) -> Iterator[ApacheKafka]:
    """A running node for the length of the block; `Unavailable` where it cannot be had."""
    kafka = ApacheKafka(directory, properties=properties, port=port, data=data, node_id=node_id)
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.stop()


def archive_classes(scratch: Path) -> None:
    """Let the JVM remember the classes that the server and a tool load.

    It halves the start of both; everything works without (`java` looks for the files).
    """
    bundle = require()
    archives = {name: bundle.directory / f"{name}.jsa" for name in ("server", "tools")}
    if all(archive.exists() for archive in archives.values()):
        return
    made = {name: scratch / f"{name}.jsa" for name in archives}
    kafka = ApacheKafka(scratch, jvm_options=_recording(made["server"]))
    try:
        kafka.start()
        java_command, *tool = tool_command("kafka-topics", "--bootstrap-server", kafka.bootstrap)
        command = [java_command, *_recording(made["tools"]), *tool, "--list"]
        subprocess.run(command, capture_output=True, timeout=120, check=False)
    finally:
        kafka.stop()
    for name, archive in made.items():
        if archive.exists():
            os.replace(archive, archives[name])


def _recording(archive: Path) -> list[str]:
    return [f"-XX:ArchiveClassesAtExit={archive}"]
