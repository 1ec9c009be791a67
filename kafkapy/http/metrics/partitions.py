"""Topics and partitions that live on this node, as their leader or a follower; directories.

Of partitions only so many have lines of their own (http.metrics.max.partitions), topics by name
until then; of all others there are the sums.
"""

from kafkapy.broker.partitions.partition import Partition
from kafkapy.http.metrics.families import COUNTER, GAUGE, Family, Page
from kafkapy.http.site import Site

_OF = ("topic", "partition")
_LOG = "kafka.log:type=Log,name={},topic=*,partition=*"
_TOPIC = "kafka.server:type=BrokerTopicMetrics,name={},topic=*"
_MANAGER = "kafka.server:type=ReplicaManager,name={}"
BYTES_IN = Family(
    "kafka_topic_bytes_in_total",
    COUNTER,
    "Bytes of record batches that clients wrote to partitions led here.",
    ("topic",),
    _TOPIC.format("BytesInPerSec"),
)
BYTES_OUT = Family(
    "kafka_topic_bytes_out_total",
    COUNTER,
    "Bytes of record batches that consumers were given here.",
    ("topic",),
    _TOPIC.format("BytesOutPerSec"),
)
PARTITION_BYTES_IN = Family(
    "kafka_topic_partition_bytes_in_total",
    COUNTER,
    "The same by partition.",
    _OF,
    _TOPIC.format("BytesInPerSec"),
)
PARTITION_BYTES_OUT = Family(
    "kafka_topic_partition_bytes_out_total",
    COUNTER,
    "The same by partition.",
    _OF,
    _TOPIC.format("BytesOutPerSec"),
)
START = Family(
    "kafka_topic_partition_oldest_offset",
    GAUGE,
    "Where the log of this replica starts.",
    _OF,
    _LOG.format("LogStartOffset"),
)
END = Family(
    "kafka_topic_partition_log_end_offset",
    GAUGE,
    "Where the next record goes; its rate is that of records.",
    _OF,
    _LOG.format("LogEndOffset"),
)
CURRENT = Family(
    "kafka_topic_partition_current_offset",
    GAUGE,
    "The high watermark: where consumers are at the end.",
    _OF,
    "kafka_exporter",
)
SIZE = Family(
    "kafka_topic_partition_size_bytes",
    GAUGE,
    "Bytes of this replica's log.",
    _OF,
    _LOG.format("Size"),
)
IS_LEADER = Family(
    "kafka_topic_partition_leader",
    GAUGE,
    "Which broker leads, told by the leader.",
    _OF,
    "kafka_exporter",
)
IN_SYNC = Family(
    "kafka_topic_partition_in_sync_replica",
    GAUGE,
    "How many replicas are in sync, told by the leader.",
    _OF,
    "kafka.cluster:type=Partition,name=InSyncReplicasCount,topic=*,partition=*",
)
REPLICAS = Family(
    "kafka_topic_partition_replicas",
    GAUGE,
    "How many replicas there should be, told by the leader.",
    _OF,
    "kafka.cluster:type=Partition,name=ReplicasCount,topic=*,partition=*",
)
PARTITION_COUNT = Family(
    "kafka_server_partitions",
    GAUGE,
    "Replicas on this node.",
    (),
    _MANAGER.format("PartitionCount"),
)
LEADER_COUNT = Family(
    "kafka_server_leaders", GAUGE, "Of them, led here.", (), _MANAGER.format("LeaderCount")
)
UNDER_REPLICATED = Family(
    "kafka_server_under_replicated_partitions",
    GAUGE,
    "Partitions led here that do not have all replicas in sync.",
    (),
    _MANAGER.format("UnderReplicatedPartitions"),
)
UNDER_MIN = Family(
    "kafka_server_under_min_isr_partitions",
    GAUGE,
    "Partitions led here with fewer in sync than min.insync.replicas.",
    (),
    _MANAGER.format("UnderMinIsrPartitionCount"),
)
OFFLINE = Family(
    "kafka_server_offline_replicas",
    GAUGE,
    "Replicas of this node whose directory has failed.",
    (),
    _MANAGER.format("OfflineReplicaCount"),
)
DISK_TOTAL = Family(
    "kafka_log_directory_total_bytes",
    GAUGE,
    "Size of the volume that holds a log directory.",
    ("directory",),
    "DescribeLogDirs: TotalBytes",
)
DISK_USABLE = Family(
    "kafka_log_directory_usable_bytes",
    GAUGE,
    "Bytes that are free there.",
    ("directory",),
    "DescribeLogDirs: UsableBytes",
)
DISK_ONLINE = Family(
    "kafka_log_directory_online",
    GAUGE,
    "1, or 0 for a directory that has failed.",
    ("directory",),
    "kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory=*",
)
LEFT_OUT = Family(
    "kafkapy_metrics_left_out", GAUGE, "Of what there is more than is shown one by one.", ("what",)
)
FAMILIES = (
    BYTES_IN,
    BYTES_OUT,
    PARTITION_BYTES_IN,
    PARTITION_BYTES_OUT,
    START,
    END,
    CURRENT,
    SIZE,
    IS_LEADER,
    IN_SYNC,
    REPLICAS,
    PARTITION_COUNT,
    LEADER_COUNT,
    UNDER_REPLICATED,
    UNDER_MIN,
    OFFLINE,
    DISK_TOTAL,
    DISK_USABLE,
    DISK_ONLINE,
    LEFT_OUT,
)


def collect(site: Site, page: Page) -> None:
    broker = site.link.node.broker
    if broker is None:
        return
    every = broker.partitions.snapshot()
    most = site.config.http_metrics_max_partitions
    shown = sorted(every, key=lambda one: one.topic_partition)[:most]
    families = (PARTITION_COUNT, LEADER_COUNT, UNDER_REPLICATED, UNDER_MIN, OFFLINE)
    counts = dict.fromkeys(families, 0)
    for one in every:
        counts[PARTITION_COUNT] += 1
        counts[LEADER_COUNT] += one.is_leader
        counts[OFFLINE] += one.is_offline
        if one.is_leader:
            counts[UNDER_REPLICATED] += len(one.isr) < len(one.replicas)
            counts[UNDER_MIN] += is_under_min(one)
    for family, count in counts.items():
        page.add(family, count)
    page.add(LEFT_OUT, len(every) - len(shown), "partitions")
    for one in shown:
        if not one.is_offline:
            _add(page, one)
    topics = {one.topic_partition.topic for one in shown}
    for topic, (bytes_in, bytes_out) in _by_topic(every, topics).items():
        page.add(BYTES_IN, bytes_in, topic)
        page.add(BYTES_OUT, bytes_out, topic)
    _add_directories(site, page)


def _add(page: Page, one: Partition) -> None:
    topic, index = one.topic_partition
    log = one.log
    page.add(START, log.log_start_offset, topic, index)
    page.add(END, log.log_end_offset, topic, index)
    page.add(CURRENT, log.high_watermark, topic, index)
    page.add(SIZE, log.size, topic, index)
    page.add(PARTITION_BYTES_IN, one.bytes_in, topic, index)
    page.add(PARTITION_BYTES_OUT, one.bytes_out, topic, index)
    if one.is_leader:
        page.add(IS_LEADER, one.leader, topic, index)
        page.add(IN_SYNC, len(one.isr), topic, index)
        page.add(REPLICAS, len(one.replicas), topic, index)


def is_under_min(one: Partition) -> bool:
    return len(one.isr) < one.min_insync_replicas


def _by_topic(partitions: "list[Partition]", topics: set[str]) -> dict[str, tuple[int, int]]:
    """Of these topics, all of their partitions: also of those that have no lines of their own."""
    sums = dict.fromkeys(sorted(topics), (0, 0))
    for one in partitions:
        topic = one.topic_partition.topic
        if topic in sums:
            bytes_in, bytes_out = sums[topic]
            sums[topic] = bytes_in + one.bytes_in, bytes_out + one.bytes_out
    return sums


def _add_directories(site: Site, page: Page) -> None:
    node = site.link.node
    assert node.broker is not None, "asked above"
    for path in site.config.data_directories:
        is_online = not node.broker.logs.is_directory_offline(path)
        page.add(DISK_ONLINE, int(is_online), path)
        if is_online:
            total, usable = node.disk.space(path)
            page.add(DISK_TOTAL, total, path)
            page.add(DISK_USABLE, usable, path)
