"""What is asked by somebody with a single permission: every API of a broker, each about what is
there (topic, group, transactional id) and about what is not.

In the order in which they stand: what deletes comes last, so that the others find something.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from compat_tests.differ.side import Side, batch_of
from compat_tests.differ.streams_cases import (
    FIRST,
    beating,
    described,
    internal,
    joining,
    part,
)
from kafkapy.protocol.api_keys import ApiKey

K = ApiKey
TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
_NOBODY: dict[str, Any] = {"producer_id": 4711, "producer_epoch": 0}


class Asked(NamedTuple):
    what: str
    api: ApiKey
    body: dict[str, Any]
    version: int | None = None


class Names(NamedTuple):
    """Of one walk: all of them begin alike."""

    base: str
    topic: str

    @property
    def missing(self) -> str:
        return f"{self.base}-missing"

    @property
    def group(self) -> str:
        return f"{self.base}-group"

    @property
    def shared(self) -> str:
        return f"{self.base}-shared"

    @property
    def transaction(self) -> str:
        return f"{self.base}-transaction"


def requests(side: Side, names: Names) -> Iterator[Asked]:
    yield from _of_topics(side, names)
    yield from _of_groups(side, names)
    yield from _of_share_groups(side, names)
    yield from _of_streams_groups(names)
    yield from _of_share_state(side, names)
    yield from _of_transactions(names)
    yield from _of_settings(names)
    yield from _of_the_cluster(names)
    yield from _of_tokens()
    yield from _of_creation(names)
    yield from _of_deletion(side, names)


def _both(names: Names) -> list[dict[str, Any]]:
    return [{"name": names.topic}, {"name": names.missing}]


def _of_topics(side: Side, names: Names) -> Iterator[Asked]:
    row: Any
    rows: Any
    asked: Any
    topic, topic_id = names.topic, side.topic_id(names.topic)
    everybodys: dict[str, Any] = {
        "include_topic_authorized_operations": True,
        "allow_auto_topic_creation": False,
    }
    clusters = {"include_cluster_authorized_operations": True}
    yield Asked("by name", K.METADATA, {"topics": _both(names), **everybodys})
    yield Asked("all", K.METADATA, {"topics": None, **everybodys})
    yield Asked("all, plain", K.METADATA, {"topics": None, "allow_auto_topic_creation": False})
    yield Asked("cluster", K.METADATA, {"topics": _both(names), **everybodys, **clusters}, 10)
    by_id = [{"name": None, "topic_id": topic_id}]
    yield Asked("by id", K.METADATA, {"topics": by_id, **everybodys})
    page = {"topics": _both(names), "response_partition_limit": 100}
    yield Asked("by name", K.DESCRIBE_TOPIC_PARTITIONS, page)
    yield Asked("all", K.DESCRIBE_TOPIC_PARTITIONS, {**page, "topics": []})
    for acks in (1, -1):
        yield Asked(f"acks {acks}", K.PRODUCE, side.produce(topic, batch_of(b"1"), acks=acks))
    for name in (topic, names.missing):
        what = "there" if name == topic else "missing"
        row = {"name": name, "partition_data": [{"index": 0, "records": batch_of(b"1")}]}
        produce = {"transactional_id": None, "acks": -1, "timeout": 5000, "topic_data": [row]}
        yield Asked(what, K.PRODUCE, produce, 9)
        rows = [{"partition_index": 0, "timestamp": -1}]
        asked = {"replica_id": -1, "topics": [{"name": name, "partitions": rows}]}
        yield Asked(what, K.LIST_OFFSETS, asked)
        epochs = [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]
        asked = {"replica_id": -2, "topics": [{"topic": name, "partitions": epochs}]}
        yield Asked(what, K.OFFSET_FOR_LEADER_EPOCH, asked)
        asked = {"topics": [{"name": name, "partition_indexes": [0]}]}
        yield Asked(what, K.DESCRIBE_PRODUCERS, asked)
        fetch = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
        asked = {"max_wait": 0, "min_bytes": 0, "max_bytes": 1000, "session_epoch": -1}
        topics = [{"topic": name, "topic_id": topic_id, "partitions": [fetch]}]
        yield Asked(what, K.FETCH, {**asked, "topics": topics}, 12)
        if name == topic:
            yield Asked("by id", K.FETCH, {**asked, "topics": topics})
            follower = {"replica_state": {"replica_id": 1, "replica_epoch": -1}}
            yield Asked("as a replica", K.FETCH, {**asked, **follower, "topics": topics})
    transactional = batch_of(b"1", is_transactional=True, base_sequence=0, **_NOBODY)
    row = {"name": topic, "partition_data": [{"index": 0, "records": transactional}]}
    body = {"transactional_id": names.transaction, "acks": -1, "timeout": 5000}
    yield Asked("in a transaction", K.PRODUCE, {**body, "topic_data": [row]}, 9)


def _of_groups(side: Side, names: Names) -> Iterator[Asked]:
    row: Any
    rows: Any
    body: Any
    beat: Any
    group, topic, topic_id = names.group, names.topic, side.topic_id(names.topic)
    for kind, key in ((0, group), (1, names.transaction)):
        body = {"key": key, "key_type": kind, "coordinator_keys": [key]}
        yield Asked(f"kind {kind}", K.FIND_COORDINATOR, body)
        yield Asked(f"kind {kind}, alone", K.FIND_COORDINATOR, body, 3)
    member = {"generation_id_or_member_epoch": -1, "member_id": ""}
    for name in (topic, names.missing):
        what = "there" if name == topic else "missing"
        row = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1}
        rows = [{"name": name, "topic_id": topic_id, "partitions": [row]}]
        body = {"group_id": group, **member, "retention_time": -1, "topics": rows}
        yield Asked(what, K.OFFSET_COMMIT, body, 8)
        if name == topic:
            yield Asked("by id", K.OFFSET_COMMIT, body)
        row = {"name": name, "partition_indexes": [0]}
        rows = [{**row, "topic_id": topic_id}]
        body = {"group_id": group, "topics": [row]}
        body["groups"] = [{"group_id": group, "topics": rows}]
        for version in (1, 7, 8) if name == topic else (8,):
            yield Asked(f"{what} v{version}", K.OFFSET_FETCH, body, version)
        if name == topic:
            yield Asked("by id", K.OFFSET_FETCH, body)
    everything = {"groups": [{"group_id": group, "topics": None}]}
    yield Asked("all", K.OFFSET_FETCH, everything)
    protocols = [{"name": "range", "metadata": b""}]
    joining = {"group_id": f"{group}-joined", "session_timeout": 10_000, "member_id": ""}
    more = {"rebalance_timeout": 10_000, "protocol_type": "consumer", "protocols": protocols}
    yield Asked("stranger", K.JOIN_GROUP, {**joining, **more})
    me = {"group_id": group, "generation_id": 1, "member_id": "stranger"}
    yield Asked("stranger", K.HEARTBEAT, me)
    named = {"protocol_type": "consumer", "protocol_name": "range", "assignments": []}
    yield Asked("stranger", K.SYNC_GROUP, {**me, **named})
    strangers = {"group_id": group, "members": [{"member_id": "stranger"}]}
    yield Asked("stranger", K.LEAVE_GROUP, strangers)
    beat = {"group_id": f"{group}-new", "member_id": "AAAAAAAAAAAAAAAAAAAAAQ", "member_epoch": 0}
    beat |= {"rebalance_timeout": 10_000, "topic_partitions": []}
    beat["subscribed_topic_names"] = [topic]
    yield Asked("joins", K.CONSUMER_GROUP_HEARTBEAT, beat)
    leaving = {**beat, "member_epoch": -1, "subscribed_topic_names": None}
    yield Asked("leaves", K.CONSUMER_GROUP_HEARTBEAT, {**leaving, "topic_partitions": None})
    body = {"groups": [group], "include_authorized_operations": True}
    yield Asked("there", K.DESCRIBE_GROUPS, body)
    body = {"group_ids": [f"{names.base}-consumers"], "include_authorized_operations": True}
    yield Asked("there", K.CONSUMER_GROUP_DESCRIBE, body)
    yield Asked("all", K.LIST_GROUPS, {"states_filter": [], "types_filter": []})


def _of_share_groups(side: Side, names: Names) -> Iterator[Asked]:
    """Of one that is not there: with a single permission nobody gets to read."""
    group, topic = f"{names.base}-sharers", names.topic
    member = {"group_id": group, "member_id": "AAAAAAAAAAAAAAAAAAAAAQ"}
    for what, name in (("there", topic), ("missing", names.missing)):
        beat = {**member, "member_epoch": 0, "subscribed_topic_names": [name]}
        yield Asked(f"joins {what}", K.SHARE_GROUP_HEARTBEAT, beat)
    leaving = {**member, "member_epoch": -1, "subscribed_topic_names": None}
    yield Asked("leaves", K.SHARE_GROUP_HEARTBEAT, leaving)
    body: Any = {"group_ids": [group], "include_authorized_operations": True}
    yield Asked("there", K.SHARE_GROUP_DESCRIBE, body)
    partitions = [{"partition_index": 0, "acknowledgement_batches": []}]
    topics: Any = [{"topic_id": side.topic_id(topic), "partitions": partitions}]
    fetch = {"max_wait": 0, "min_bytes": 0, "max_bytes": 1000, "max_records": 1, "batch_size": 1}
    opened = {**member, "share_session_epoch": 0, "forgotten_topics_data": [], "topics": topics}
    yield Asked("opens", K.SHARE_FETCH, {**opened, **fetch})
    batch = {"first_offset": 0, "last_offset": 0, "acknowledge_types": [1]}
    partitions = [{"partition_index": 0, "acknowledgement_batches": [batch]}]
    topics = [{"topic_id": side.topic_id(topic), "partitions": partitions}]
    yield Asked("one", K.SHARE_ACKNOWLEDGE, {**member, "share_session_epoch": 1, "topics": topics})
    for what, name in (("there", topic), ("missing", names.missing)):
        row: Any = {"topic_name": name, "partitions": [0]}
        body = {"groups": [{"group_id": group, "topics": [row]}]}
        yield Asked(what, K.DESCRIBE_SHARE_GROUP_OFFSETS, body)
        row = {"topic_name": name, "partitions": [{"partition_index": 9, "start_offset": 0}]}
        yield Asked(what, K.ALTER_SHARE_GROUP_OFFSETS, {"group_id": group, "topics": [row]})
        row = {"topic_name": name}
        yield Asked(what, K.DELETE_SHARE_GROUP_OFFSETS, {"group_id": group, "topics": [row]})
    yield Asked(
        "all", K.DESCRIBE_SHARE_GROUP_OFFSETS, {"groups": [{"group_id": group, "topics": None}]}
    )


def _of_streams_groups(names: Names) -> Iterator[Asked]:
    """Of one that is not there, and one that misses an internal topic."""
    group = f"{names.base}-streamers"
    for what, name in (("there", names.topic), ("missing", names.missing)):
        for kind, logs in (("stateless", []), ("stateful", [internal(f"{names.base}-log")])):
            parts = [part("0", [name], state_changelog_topics=logs)]
            body = joining(f"{group}-{what}-{kind}", {"epoch": 0, "subtopologies": parts})
            yield Asked(f"joins {what}, {kind}", K.STREAMS_GROUP_HEARTBEAT, body)
    nothing = {"epoch": 0, "subtopologies": []}
    yield Asked("joins, reads nothing", K.STREAMS_GROUP_HEARTBEAT, joining(group, nothing))
    yield Asked("leaves", K.STREAMS_GROUP_HEARTBEAT, beating(group, FIRST, -1))
    yield Asked("there", K.STREAMS_GROUP_DESCRIBE, described(group))
    yield Asked("missing", K.STREAMS_GROUP_DESCRIBE, described(f"{group}-missing"))


def _of_share_state(side: Side, names: Names) -> Iterator[Asked]:
    """What brokers say to a share coordinator."""
    topic_id = side.topic_id(names.topic)

    def one(**fields: Any) -> dict[str, Any]:
        partitions = [{"partition": 0, **fields}]
        topics = [{"topic_id": topic_id, "partitions": partitions}]
        return {"group_id": names.shared, "topics": topics}

    yield Asked("summary", K.READ_SHARE_GROUP_STATE_SUMMARY, one(leader_epoch=0))
    yield Asked("new", K.INITIALIZE_SHARE_GROUP_STATE, one(state_epoch=0, start_offset=0))
    yield Asked("there", K.READ_SHARE_GROUP_STATE, one(leader_epoch=0))
    written = {"state_epoch": 0, "leader_epoch": 0, "start_offset": 0, "state_batches": []}
    yield Asked("there", K.WRITE_SHARE_GROUP_STATE, one(**written))
    yield Asked("there", K.DELETE_SHARE_GROUP_STATE, one())


def _of_transactions(names: Names) -> Iterator[Asked]:
    row: Any
    rows: Any
    body: Any
    topics: Any
    named = {"transactional_id": names.transaction}
    body = {"transaction_timeout": 10_000, "producer_id": -1, "producer_epoch": -1}
    yield Asked("named", K.INIT_PRODUCER_ID, {**named, **body}, 5)
    yield Asked("idempotent", K.INIT_PRODUCER_ID, {"transactional_id": None, **body}, 5)
    me = {**named, **_NOBODY}
    for name in (names.topic, names.missing):
        what = "there" if name == names.topic else "missing"
        topics = [{"name": name, "partitions": [0]}]
        old = {f"v3_and_below_{field}": value for field, value in me.items()}
        body = {**old, "v3_and_below_topics": topics}
        yield Asked(what, K.ADD_PARTITIONS_TO_TXN, body, 3)
        one = {**me, "verify_only": False, "topics": topics}
        yield Asked(what, K.ADD_PARTITIONS_TO_TXN, {"transactions": [one]})
        row = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1}
        rows = [{"name": name, "partitions": [row]}]
        body = {**me, "group_id": names.group, "topics": rows}
        yield Asked(what, K.TXN_OFFSET_COMMIT, body, 4)
    yield Asked("stranger", K.ADD_OFFSETS_TO_TXN, {**me, "group_id": names.group})
    yield Asked("stranger", K.END_TXN, {**me, "committed": True}, 4)
    topics = [{"name": names.missing, "partition_indexes": [0]}]
    marker = {**_NOBODY, "transaction_result": True, "topics": topics, "coordinator_epoch": 0}
    yield Asked("missing", K.WRITE_TXN_MARKERS, {"markers": [marker]})
    yield Asked("there", K.DESCRIBE_TRANSACTIONS, {"transactional_ids": [names.transaction]})
    body = {"state_filters": [], "producer_id_filters": [], "duration_filter": -1}
    yield Asked("all", K.LIST_TRANSACTIONS, body)


def _of_settings(names: Names) -> Iterator[Asked]:
    row: Any
    asked: Any
    resources = (
        ("topic", TOPIC, names.topic, "retention.ms", "60000"),
        ("missing topic", TOPIC, names.missing, "retention.ms", "60000"),
        ("group", GROUP, names.group, "consumer.session.timeout.ms", "50000"),
        ("broker", BROKER, "1", "log.cleaner.threads", "1"),
        ("loggers", LOGGER, "1", "no.such.logger", "INFO"),
        ("metrics", CLIENT_METRICS, names.base, "interval.ms", "1000"),
    )
    for what, kind, name, key, value in resources:
        row = {"resource_type": kind, "resource_name": name}
        asked = {"resources": [{**row, "configuration_keys": [key]}]}
        yield Asked(what, K.DESCRIBE_CONFIGS, asked)
        config = {"name": key, "config_operation": 0, "value": value}
        asked = {"resources": [{**row, "configs": [config]}], "validate_only": True}
        yield Asked(what, K.INCREMENTAL_ALTER_CONFIGS, asked)
        if kind != LOGGER:
            asked = {"resources": [{**row, "configs": [{"name": key, "value": value}]}]}
            asked["validate_only"] = True
            yield Asked(what, K.ALTER_CONFIGS, asked)
    yield Asked("all", K.LIST_CONFIG_RESOURCES, {"resource_types": []})
    yield Asked("user", K.DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": [{"name": names.base}]})
    body = {"deletions": [{"name": names.base, "mechanism": 1}], "upsertions": []}
    yield Asked("user", K.ALTER_USER_SCRAM_CREDENTIALS, body)
    component = {"entity_type": "user", "match_type": 0, "match": names.base}
    yield Asked("user", K.DESCRIBE_CLIENT_QUOTAS, {"components": [component], "strict": False})
    entity = [{"entity_type": "user", "entity_name": names.base}]
    entry = {"entity": entity, "ops": [{"key": "request_percentage", "value": 5.0}]}
    yield Asked("user", K.ALTER_CLIENT_QUOTAS, {"entries": [entry], "validate_only": True})


def _of_the_cluster(names: Names) -> Iterator[Asked]:
    topics: Any
    body: Any
    acl: Any
    one: Any
    operations = {"include_cluster_authorized_operations": True, "endpoint_type": 1}
    yield Asked("brokers", K.DESCRIBE_CLUSTER, operations)
    topics = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    yield Asked("metadata", K.DESCRIBE_QUORUM, {"topics": topics})
    logs = {"topics": [{"topic": names.topic, "partitions": [0]}]}
    yield Asked("topic", K.DESCRIBE_LOG_DIRS, logs)
    yield Asked("topic, before errors", K.DESCRIBE_LOG_DIRS, logs, 2)
    topics = [{"name": names.topic, "partitions": [0]}]
    nowhere = {"dirs": [{"path": "/nowhere", "topics": topics}]}
    yield Asked("nowhere", K.ALTER_REPLICA_LOG_DIRS, nowhere)
    partitions = [{"topic": names.topic, "partitions": [0]}]
    body = {"election_type": 0, "topic_partitions": partitions, "timeout": 5000}
    yield Asked("topic", K.ELECT_LEADERS, body)
    yield Asked("nothing", K.ALTER_PARTITION_REASSIGNMENTS, {"timeout": 5000, "topics": []})
    yield Asked("nothing", K.LIST_PARTITION_REASSIGNMENTS, {"timeout": 5000, "topics": []})
    update = {"feature": "group.version", "max_version_level": 1, "upgrade_type": 1}
    body = {"timeout": 5000, "feature_updates": [update], "validate_only": True}
    yield Asked("as it is", K.UPDATE_FEATURES, body)
    yield Asked("unknown", K.UNREGISTER_BROKER, {"broker_id": 4711})
    voter = {"cluster_id": "another", "voter_id": 4711, "voter_directory_id": UUID(int=4711)}
    listeners = [{"name": "CONTROLLER", "host": "nowhere", "port": 1}]
    adding = {**voter, "listeners": listeners, "timeout": 5000, "ack_when_committed": True}
    yield Asked("of another cluster", K.ADD_RAFT_VOTER, adding)
    yield Asked("of another cluster", K.REMOVE_RAFT_VOTER, voter)
    anything = {"principal_filter": f"User:{names.base}", "host_filter": None}
    numbers = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1}
    one = {**anything, **numbers, "permission_type": 1, "resource_name_filter": None}
    yield Asked("of nobody", K.DESCRIBE_ACLS, one)
    yield Asked("of nobody", K.DELETE_ACLS, {"filters": [one]})
    acl = {"resource_type": 2, "resource_name": names.base, "resource_pattern_type": 3}
    acl |= {"principal": f"User:{names.base}", "host": "*", "operation": 3, "permission_type": 3}
    yield Asked("of nobody", K.CREATE_ACLS, {"creations": [acl]})
    yield Asked("anything", K.API_VERSIONS, {"client_software_name": "a"})


def _of_tokens() -> Iterator[Asked]:
    """Nobody has shown who it is here: that comes before any permission."""
    for version in (1, 2, 3):
        owner = {"owner_principal_type": "User", "owner_principal_name": "somebody"}
        body = {**owner, "renewers": [], "max_lifetime": -1}
        yield Asked("a token", K.CREATE_DELEGATION_TOKEN, body, version)
        yield Asked("all", K.DESCRIBE_DELEGATION_TOKEN, {"owners": None}, version)
    for version in (1, 2):
        shown = {"hmac": b"no token's"}
        yield Asked("unknown", K.RENEW_DELEGATION_TOKEN, {**shown, "renew_period": -1}, version)
        body = {**shown, "expiry_time_period": -1}
        yield Asked("unknown", K.EXPIRE_DELEGATION_TOKEN, body, version)


def _of_creation(names: Names) -> Iterator[Asked]:
    row: Any
    rows: Any
    body: Any
    row = {"num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    for name in (f"{names.base}-new", names.topic):
        what = "there" if name == names.topic else "new"
        body = {"topics": [{"name": name, **row}], "timeout": 5000, "validate_only": True}
        yield Asked(what, K.CREATE_TOPICS, body)
    for name in (names.topic, names.missing):
        what = "there" if name == names.topic else "missing"
        rows = [{"name": name, "count": 2, "assignments": None}]
        body = {"topics": rows, "timeout": 5000, "validate_only": True}
        yield Asked(what, K.CREATE_PARTITIONS, body)
    asked = {"topics": [{"name": f"{names.base}-auto"}], "allow_auto_topic_creation": True}
    yield Asked("creates", K.METADATA, asked)


def _of_deletion(side: Side, names: Names) -> Iterator[Asked]:
    rows: Any
    body: Any
    for name in (names.topic, names.missing):
        what = "there" if name == names.topic else "missing"
        rows = [{"partition_index": 0, "offset": 0}]
        body = {"topics": [{"name": name, "partitions": rows}], "timeout": 5000}
        yield Asked(what, K.DELETE_RECORDS, body)
        rows = [{"name": name, "partitions": [{"partition_index": 0}]}]
        yield Asked(what, K.OFFSET_DELETE, {"group_id": names.group, "topics": rows})
    yield Asked("there", K.DELETE_GROUPS, {"groups_names": [names.group]})
    yield Asked("missing", K.DELETE_GROUPS, {"groups_names": [f"{names.group}-missing"]})
    missing = [{"name": names.missing, "topic_id": None}]
    yield Asked("missing", K.DELETE_TOPICS, {"topics": missing, "timeout": 5000})
    by_id = [{"name": None, "topic_id": side.topic_id(names.topic)}]
    yield Asked("by id", K.DELETE_TOPICS, {"topics": by_id, "timeout": 5000})
    by_name = [{"name": names.topic, "topic_id": None}]
    yield Asked("by name", K.DELETE_TOPICS, {"topics": by_name, "timeout": 5000})
