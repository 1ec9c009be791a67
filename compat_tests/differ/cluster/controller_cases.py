"""What controllers answer to brokers and to one another: the one that leads, and one that does not.

Nothing here may move the quorum or change what others' cases rest on: what is asked is refused, or
about topics of the case's own.
"""

from typing import Any
from uuid import UUID

from compat_tests.differ.cluster.cases import case
from compat_tests.differ.cluster.nodes import METADATA_ID, METADATA_TOPIC, NODES, Nodes
from compat_tests.oracle import CLUSTER_ID
from kafkapy.broker.controller.envelope import principal_bytes
from kafkapy.protocol.api_keys import ApiKey

K = ApiKey
NOBODY = 77
OTHER_CLUSTER, SOME_ID = "kafkapyAnotherCluster1", UUID(int=4711)
STALE = 0


@case(K.ALTER_PARTITION, versions=(2, 3))
def in_sync_replicas_are_changed(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2]})
    topic_id, epochs = nodes.topic_id(topic), nodes.broker_epochs()

    def change(
        isr: dict[int, int], *, broker: int = 1, epoch: int = epochs[1], **more: Any
    ) -> None:
        rows = [{"broker_id": one, "broker_epoch": at} for one, at in isr.items()]
        row: dict[str, Any] = {"partition_index": 0, "leader_epoch": 0, "partition_epoch": 0}
        row |= {"new_isr": list(isr), "new_isr_with_epochs": rows, "leader_recovery_state": 0}
        row |= more
        asked = row.pop("topic_id", topic_id)
        topics = [{"topic_id": asked, "partitions": [row]}]
        body = {"broker_id": broker, "broker_epoch": epoch, "topics": topics}
        nodes.ask_controllers(K.ALTER_PARTITION, body)

    both = {1: epochs[1], 2: epochs[2]}
    change(both, epoch=STALE)
    change(both, broker=NOBODY)
    change(both, broker=2, epoch=epochs[2])  # it does not lead
    change(both, topic_id=SOME_ID)
    change(both, topic_id=None)
    change(both, partition_index=7)
    change(both, leader_epoch=-1)
    change(both, leader_epoch=5)
    change(both, partition_epoch=5)
    change(both, partition_epoch=-1)
    change({})
    change({2: epochs[2]})
    change({**both, 3: epochs[3]})
    change({**both, NOBODY: 0})
    change({1: epochs[1], 2: STALE})
    change(both, leader_recovery_state=1)
    change(both)


@case(K.BROKER_HEARTBEAT, versions=(0, 1, 2))
def heartbeats_of_who_is_not_registered(nodes: Nodes) -> None:
    for broker, epoch in ((NOBODY, 0), (2, STALE), (2, -1), (2, 2**40)):
        body = {"broker_id": broker, "broker_epoch": epoch, "current_metadata_offset": 0}
        nodes.ask_controllers(
            K.BROKER_HEARTBEAT, {**body, "want_fence": False, "want_shut_down": False}
        )


@case(K.BROKER_REGISTRATION, versions=(0, 1, 2, 3, 4))
def registrations_that_are_refused(nodes: Nodes) -> None:
    """Of another cluster, of a broker that is there, by one that knows too little, with nowhere to
    be reached or nowhere to write."""
    listener = {"name": "PLAINTEXT", "host": "127.0.0.1", "port": 9, "security_protocol": 0}
    feature = {"name": "metadata.version", "min_supported_version": 7, "max_supported_version": 30}
    good = {
        "broker_id": NOBODY,
        "cluster_id": CLUSTER_ID,
        "incarnation_id": SOME_ID,
        "listeners": [listener],
        "features": [feature],
        "rack": None,
        "log_dirs": [SOME_ID],
    }
    low = {**feature, "max_supported_version": 8}
    changes: list[dict[str, Any]] = [
        {"cluster_id": OTHER_CLUSTER},
        {"broker_id": 2},
        {"features": [low]},
        {"features": []},
        {"listeners": []},
        {"log_dirs": []},
        {"log_dirs": [SOME_ID, SOME_ID]},
        {"is_migrating_zk_broker": True},
    ]
    for change in changes:
        nodes.ask_controllers(K.BROKER_REGISTRATION, {**good, **change})


@case(K.ALLOCATE_PRODUCER_IDS, versions=(0,))
def producer_ids_for_who_is_not_registered(nodes: Nodes) -> None:
    for broker, epoch in ((NOBODY, 0), (2, STALE)):
        body = {"broker_id": broker, "broker_epoch": epoch}
        nodes.ask_controllers(K.ALLOCATE_PRODUCER_IDS, body)


@case(K.ASSIGN_REPLICAS_TO_DIRS, versions=(0,))
def replicas_are_assigned_to_directories(nodes: Nodes) -> None:
    topic = nodes.topic({0: [1, 2]})
    epochs = nodes.broker_epochs()

    def assign(broker: int, epoch: int, directory: UUID, of: UUID, partition: int = 0) -> None:
        rows = [{"topic_id": of, "partitions": [{"partition_index": partition}]}]
        body: dict[str, Any] = {"broker_id": broker, "broker_epoch": epoch}
        body["directories"] = [{"id_": directory, "topics": rows}]
        nodes.ask_controllers(K.ASSIGN_REPLICAS_TO_DIRS, body)

    topic_id = nodes.topic_id(topic)
    assign(1, STALE, SOME_ID, topic_id)
    assign(NOBODY, 0, SOME_ID, topic_id)
    assign(1, epochs[1], SOME_ID, SOME_ID)
    assign(1, epochs[1], SOME_ID, topic_id, partition=7)
    assign(3, epochs[3], SOME_ID, topic_id)
    assign(1, epochs[1], UUID(int=0), topic_id)
    nodes.active.ask(
        K.ASSIGN_REPLICAS_TO_DIRS,
        {"broker_id": 1, "broker_epoch": epochs[1], "directories": []},
        nodes.version,
    )


@case(K.UNREGISTER_BROKER)
def a_broker_that_nobody_knows_is_unregistered(nodes: Nodes) -> None:
    nodes.ask_brokers(K.UNREGISTER_BROKER, {"broker_id": NOBODY})
    nodes.ask_controllers(K.UNREGISTER_BROKER, {"broker_id": NOBODY})


@case(K.VOTE, versions=(0, 1, 2))
def votes_that_are_refused(nodes: Nodes) -> None:
    epoch = nodes.quorum().leader_epoch

    def vote(at: int, *, cluster: str | None = CLUSTER_ID, by: int = 2, **more: Any) -> None:
        row: dict[str, Any] = {"partition_index": 0, "replica_epoch": at, "pre_vote": True}
        row |= {"replica_id": by, "replica_directory_id": None, "voter_directory_id": None}
        row |= {"last_offset_epoch": 0, "last_offset": 0, **more}
        topics = [{"topic_name": row.pop("topic_name", METADATA_TOPIC), "partitions": [row]}]
        body = {"cluster_id": cluster, "voter_id": row.pop("voter_id", -1), "topics": topics}
        nodes.ask_controllers(K.VOTE, body)

    vote(epoch, cluster=OTHER_CLUSTER)
    vote(STALE)
    vote(epoch, by=NOBODY)
    vote(epoch, by=-1)
    vote(-1)
    vote(epoch, voter_id=NOBODY)
    vote(epoch, last_offset=-1)
    vote(epoch, last_offset_epoch=epoch + 1)
    vote(epoch, partition_index=1)
    vote(epoch, topic_name="not-the-metadata")
    vote(epoch)


@case(K.BEGIN_QUORUM_EPOCH, versions=(0, 1))
def leaders_that_are_none_begin(nodes: Nodes) -> None:
    _epoch_of_a_leader(nodes, K.BEGIN_QUORUM_EPOCH)


@case(K.END_QUORUM_EPOCH, versions=(0, 1))
def leaders_that_are_none_end(nodes: Nodes) -> None:
    _epoch_of_a_leader(nodes, K.END_QUORUM_EPOCH)


def _epoch_of_a_leader(nodes: Nodes, api_key: ApiKey) -> None:
    for cluster, topic, partition, epoch in (
        (OTHER_CLUSTER, METADATA_TOPIC, 0, STALE),
        (CLUSTER_ID, METADATA_TOPIC, 0, STALE),
        (None, METADATA_TOPIC, 0, STALE),
        (CLUSTER_ID, METADATA_TOPIC, 0, -1),
        (CLUSTER_ID, METADATA_TOPIC, 1, STALE),
        (CLUSTER_ID, "not-the-metadata", 0, STALE),
    ):
        row: dict[str, Any] = {"partition_index": partition, "leader_id": 2, "leader_epoch": epoch}
        if api_key == K.END_QUORUM_EPOCH:
            row |= {"preferred_successors": [], "preferred_candidates": []}
        topics = [{"topic_name": topic, "partitions": [row]}]
        endpoints = [{"name": "CONTROLLER", "host": "127.0.0.1", "port": 9}]
        body = {"cluster_id": cluster, "topics": topics, "leader_endpoints": endpoints}
        nodes.ask_controllers(api_key, {**body, "voter_id": -1} if api_key == K.BEGIN_QUORUM_EPOCH
                              else body)  # fmt: skip


@case(K.FETCH, since=13)
def the_metadata_is_fetched(nodes: Nodes) -> None:
    """Before v13 Apache Kafka's controllers refuse every fetch: it does not name a topic's id."""
    epoch = nodes.quorum().leader_epoch

    def fetch(*, cluster: str | None = CLUSTER_ID, topic: UUID = METADATA_ID, **more: Any) -> None:
        row: dict[str, Any] = {"partition": 0, "current_leader_epoch": epoch, "fetch_offset": 0}
        row |= {"last_fetched_epoch": 0, "partition_max_bytes": 0, **more}
        topics = [{"topic_id": topic, "partitions": [row]}]
        body = {"cluster_id": cluster, "max_wait": 0, "min_bytes": 0, "max_bytes": 0}
        for side in (nodes.active, nodes.inactive):
            answer = side.call(K.FETCH, {**body, "topics": topics}, nodes.version)
            side.heard.append((f"FETCH v{nodes.version}", _without_ends(side.plain(answer))))

    fetch(cluster=OTHER_CLUSTER)
    fetch(topic=SOME_ID)
    fetch(partition=1)
    fetch(current_leader_epoch=STALE)
    fetch(current_leader_epoch=epoch + 9)
    fetch(last_fetched_epoch=epoch + 9)
    fetch(fetch_offset=-1)


def _without_ends(answer: dict[str, Any]) -> dict[str, Any]:
    """How long the metadata is, is each cluster's own."""
    for topic in answer["responses"]:
        for row in topic["partitions"]:
            for name in ("high_watermark", "last_stable_offset", "log_start_offset"):
                row[name] = (row[name] > 0) - (row[name] < 0)
            row["records"] = bool(row["records"])
            for name in ("end_offset", "epoch"):
                if row.get("diverging_epoch"):
                    row["diverging_epoch"][name] = row["diverging_epoch"][name] >= 0
    return answer


@case(K.FETCH_SNAPSHOT, versions=(0, 1))
def snapshots_of_another_cluster(nodes: Nodes) -> None:
    """Whatever else is wrong with it, Apache Kafka fails with a null pointer."""
    row = {"partition": 0, "current_leader_epoch": nodes.quorum().leader_epoch, "position": 0}
    row |= {"snapshot_id": {"end_offset": 5, "epoch": 1}}
    body = {"cluster_id": OTHER_CLUSTER, "replica_id": NOBODY, "max_bytes": 1000}
    topics = [{"name": METADATA_TOPIC, "partitions": [row]}]
    nodes.ask_controllers(K.FETCH_SNAPSHOT, {**body, "topics": topics})


@case(K.ADD_RAFT_VOTER, versions=(0, 1))
def a_voter_is_added_to_a_configured_quorum(nodes: Nodes) -> None:
    listener = {"name": "CONTROLLER", "host": "127.0.0.1", "port": 9}
    for cluster, voter in ((CLUSTER_ID, NOBODY), (OTHER_CLUSTER, NOBODY), (CLUSTER_ID, 2)):
        body = {"cluster_id": cluster, "timeout": 5000, "voter_id": voter}
        body |= {"voter_directory_id": SOME_ID, "listeners": [listener]}
        nodes.ask_controllers(K.ADD_RAFT_VOTER, body)
    nodes.broker(2).ask(K.ADD_RAFT_VOTER, body, nodes.version)


@case(K.REMOVE_RAFT_VOTER, versions=(0,))
def a_voter_is_removed_from_a_configured_quorum(nodes: Nodes) -> None:
    for cluster, voter in ((CLUSTER_ID, NOBODY), (OTHER_CLUSTER, 2), (CLUSTER_ID, 2)):
        body = {"cluster_id": cluster, "voter_id": voter, "voter_directory_id": SOME_ID}
        nodes.ask_controllers(K.REMOVE_RAFT_VOTER, body)
    nodes.broker(2).ask(K.REMOVE_RAFT_VOTER, body, nodes.version)


@case(K.UPDATE_RAFT_VOTER, versions=(0,))
def a_voter_is_updated_wrongly(nodes: Nodes) -> None:
    epoch = nodes.quorum().leader_epoch
    listener = {"name": "CONTROLLER", "host": "127.0.0.1", "port": 9}
    for cluster, voter, at in (
        (OTHER_CLUSTER, 2, epoch),
        (CLUSTER_ID, 2, STALE),
        (CLUSTER_ID, 2, epoch + 9),
        (CLUSTER_ID, NOBODY, epoch),
    ):
        versions = {"min_supported_version": 0, "max_supported_version": 1}
        body = {"cluster_id": cluster, "current_leader_epoch": at, "voter_id": voter}
        body |= {"voter_directory_id": SOME_ID, "listeners": [listener]}
        nodes.ask_controllers(K.UPDATE_RAFT_VOTER, {**body, "k_raft_version_feature": versions})


@case(K.ENVELOPE, versions=(0,))
def envelopes_that_hold_nothing(nodes: Nodes) -> None:
    for principal in (b"nobody", None, principal_bytes("User:somebody")):
        for data in (b"", b"\0" * 20):
            body = {"request_principal": principal, "client_host_address": b"\x7f\0\0\1"}
            nodes.ask_controllers(K.ENVELOPE, {**body, "request_data": data})


@case(K.METADATA, versions=(13,))
def what_the_other_listener_serves(nodes: Nodes) -> None:
    """Brokers hang up on what only controllers serve, controllers on what only brokers do."""
    quorum: dict[str, Any] = {"cluster_id": CLUSTER_ID, "topics": []}
    for node_id in NODES:
        nodes.broker(node_id).ask(K.VOTE, quorum, 2)
        nodes.broker(node_id).ask(K.FETCH_SNAPSHOT, quorum, 1)
        nodes.broker(node_id).ask(K.ALTER_PARTITION, {"broker_id": 1, "topics": []}, 3)
    nodes.ask_controllers(K.METADATA, {"topics": []})
    nodes.ask_controllers(K.PRODUCE, {"acks": 1, "timeout": 1000, "topic_data": []})
