"""The cluster as this node knows it: its metadata, the quorum, who controls."""

from kafkapy import __version__
from kafkapy.http.metrics.families import COUNTER, GAUGE, Family, Page
from kafkapy.http.site import Site

_CONTROLLER = "kafka.controller:type=KafkaController,name={}"
_RAFT = "kafka.server:type=raft-metrics:{}"
INFO = Family(
    "kafkapy_info", GAUGE, "1; what this node is.", ("version", "node_id", "cluster_id", "roles"),
    "kafka.server:type=app-info",
)  # fmt: skip
BROKERS = Family(
    "kafka_brokers", GAUGE, "Brokers that are registered and not fenced.", (),
    _CONTROLLER.format("ActiveBrokerCount"),
)  # fmt: skip
FENCED = Family(
    "kafka_brokers_fenced", GAUGE, "Brokers that are registered and fenced.", (),
    _CONTROLLER.format("FencedBrokerCount"),
)  # fmt: skip
TOPICS = Family(
    "kafka_topics", GAUGE, "Topics of the cluster.", (), _CONTROLLER.format("GlobalTopicCount")
)
PARTITIONS = Family(
    "kafka_partitions", GAUGE, "Partitions of the cluster.", (),
    _CONTROLLER.format("GlobalPartitionCount"),
)  # fmt: skip
OFFLINE = Family(
    "kafka_offline_partitions", GAUGE, "Partitions of the cluster that nobody leads.", (),
    _CONTROLLER.format("OfflinePartitionsCount"),
)  # fmt: skip
NOT_PREFERRED = Family(
    "kafka_partitions_led_by_another", GAUGE, "Partitions led by another than the first replica.",
    (), _CONTROLLER.format("PreferredReplicaImbalanceCount"),
)  # fmt: skip
REASSIGNING = Family(
    "kafka_reassigning_partitions", GAUGE, "Partitions whose replicas are being moved.", (),
    "kafka.server:type=ReplicaManager,name=ReassigningPartitions",
)  # fmt: skip
IS_CONTROLLER = Family(
    "kafka_active_controller", GAUGE, "1 on the node that is the active controller.", (),
    _CONTROLLER.format("ActiveControllerCount"),
)  # fmt: skip
LEADER = Family(
    "kafka_quorum_leader", GAUGE, "Who leads the metadata quorum; -1 if nobody is known.", (),
    _RAFT.format("current-leader"),
)  # fmt: skip
EPOCH = Family(
    "kafka_quorum_epoch", GAUGE, "The quorum's epoch; it grows with each election.", (),
    _RAFT.format("current-epoch"),
)  # fmt: skip
STATE = Family(
    "kafka_quorum_state", GAUGE,
    "1 for what this node is in the metadata quorum; an observer is a follower without a vote.",
    ("state",), _RAFT.format("current-state"),
)  # fmt: skip
HIGH_WATERMARK = Family(
    "kafka_quorum_high_watermark", GAUGE, "Up to where the metadata log is committed.", (),
    _RAFT.format("high-watermark"),
)  # fmt: skip
LOG_END = Family(
    "kafka_quorum_log_end_offset", GAUGE, "How far this node has the metadata log.", (),
    _RAFT.format("log-end-offset"),
)  # fmt: skip
APPLIED = Family(
    "kafka_metadata_offset", COUNTER, "The last record of the metadata that is in force here.", (),
    "kafka.server:type=broker-metadata-metrics:last-applied-record-offset",
)  # fmt: skip
APPLIED_AT = Family(
    "kafka_metadata_timestamp_seconds", GAUGE, "When that record was written.", (),
    "kafka.server:type=broker-metadata-metrics:last-applied-record-timestamp",
)  # fmt: skip
VOTER_LAG = Family(
    "kafka_quorum_replica_lag", GAUGE,
    "Records of the metadata log that a voter or observer has not fetched, told by the leader.",
    ("replica", "kind"), "DescribeQuorum: Lag",
)  # fmt: skip
VOTER_LAG_SECONDS = Family(
    "kafka_quorum_replica_caught_up_age_seconds", GAUGE,
    "For how long it has not been caught up, told by the leader.",
    ("replica", "kind"), "DescribeQuorum: LagTimeMs",
)  # fmt: skip
FAMILIES = (
    INFO, BROKERS, FENCED, TOPICS, PARTITIONS, OFFLINE, NOT_PREFERRED, REASSIGNING, IS_CONTROLLER,
    LEADER, EPOCH, STATE, HIGH_WATERMARK, LOG_END, APPLIED, APPLIED_AT, VOTER_LAG,
    VOTER_LAG_SECONDS,
)  # fmt: skip
_STATES = (
    "leader", "follower", "observer", "candidate", "prospective", "unattached", "resigned",
)  # fmt: skip


def collect(site: Site, page: Page) -> None:
    node = site.link.node
    image, quorum, config = node.image, node.quorum, site.config
    roles = ",".join(config.process_roles)
    page.add(INFO, 1, __version__, node.node_id, node.cluster_id, roles)
    brokers = list(image.brokers.values())
    page.add(BROKERS, sum(not one.fenced for one in brokers))
    page.add(FENCED, sum(one.fenced for one in brokers))
    page.add(TOPICS, len(image.topics_by_name))
    _add_partitions(site, page)
    leader = quorum.leader_id
    page.add(LEADER, -1 if leader is None else leader)
    page.add(EPOCH, quorum.leader_epoch)
    state = quorum.role_name
    if state == "follower" and node.node_id not in quorum.voters:
        state = "observer"
    for one in _STATES:
        page.add(STATE, int(one == state), one)
    page.add(HIGH_WATERMARK, -1 if quorum.high_watermark is None else quorum.high_watermark)
    page.add(LOG_END, quorum.next_offset)
    page.add(APPLIED, image.offset)
    page.add(APPLIED_AT, image.timestamp / 1000)
    is_active = node.controller is not None and node.controller.controller.is_active
    page.add(IS_CONTROLLER, int(is_active))


def _add_partitions(site: Site, page: Page) -> None:
    """Of the whole cluster, as every node knows them."""
    count = offline = led_by_another = reassigning = 0
    for topic in list(site.link.image.topics_by_name.values()):
        for one in list(topic.partitions.values()):
            count += 1
            offline += not one.has_leader
            led_by_another += one.leader != one.preferred_leader
            reassigning += one.is_reassigning
    page.add(PARTITIONS, count)
    page.add(OFFLINE, offline)
    page.add(NOT_PREFERRED, led_by_another)
    page.add(REASSIGNING, reassigning)


async def collect_quorum(site: Site, page: Page) -> None:
    """What only the leader of the quorum knows, and only its loop may be asked."""
    node = site.link.node
    told = await site.link.call(
        lambda: node.quorum.describe() if node.quorum.leader_id == node.node_id else None
    )
    if told is None:
        return
    wall_ms = node.clock.wall()
    for kind, replicas in (("voter", told.voters), ("observer", told.observers)):
        for one in replicas:
            page.add(VOTER_LAG, max(0, told.high_watermark - one.log_end_offset), one.id, kind)
            caught_up_ms = one.last_caught_up_timestamp
            age_ms = wall_ms - caught_up_ms if caught_up_ms >= 0 else 0
            page.add(VOTER_LAG_SECONDS, max(0, age_ms) / 1000, one.id, kind)
