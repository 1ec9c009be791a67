"""The list of behaviours: what every client's tests prove, as far as that client can.

A test names the rows it covers: `@covers("produce-codecs")`. The row's area becomes the
test's pytest mark (`-m records`), and docs/COMPAT.md is this table by client and target.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., object])


class Behaviour(NamedTuple):
    """One thing that a user of Kafka relies on."""

    id: str
    title: str
    area: str


AREAS = {
    "records": "Producing and consuming",
    "admin": "Topics, configs and the cluster",
    "groups": "Consumer groups",
    "transactions": "Transactions",
    "durability": "Crashes and restarts",
    "security": "Logins and TLS",
    "pipelines": "Data pipelines",
}

_TABLE = {
    "records": {
        "produce-codecs": "records of every codec come back as they went in",
        "headers": "headers keep their order, duplicates, empty and null values",
        "null-key-value": "null and empty keys and values stay apart",
        "ordering": "a partition keeps the order in which it was written",
        "partitioning": "records go to the partition that the client asks for or hashes to",
        "large-records": "records of a megabyte and more where the limit allows them",
        "too-large-refused": "a batch over max.message.bytes is refused, the next one is not",
        "acks": "acks 0, 1 and all",
        "idempotence": "an idempotent producer gets sequence-checked appends",
        "seek": "seek forward, back, to the beginning and to the end",
        "offsets-by-time": "the first offset at or after a timestamp",
        "special-timestamps": "earliest, latest and max-timestamp offsets",
        "assignment": "consume by assignment, without a group",
        "create-time": "CreateTime: the producer's timestamps are kept",
        "append-time": "LogAppendTime: the broker's timestamps replace the producer's",
        "mid-batch": "a fetch from the middle of a batch gives its records from there on",
        "out-of-range": "an offset out of range is an error or a reset, as the client asks",
        "keyless-compacted": "a record without a key is refused by a compacted topic",
        "invalid-timestamp": "a timestamp too far from the broker's clock is refused",
        "unknown-topic": "producing to what does not exist ends with an error",
        "recompression": "compression.type of a topic recompresses what arrives",
        "fetch-limits": "fetch sizes bound an answer, yet one record always comes through",
        "long-poll": "a fetch at the end waits and wakes for the next record",
        "retention": "old segments go, by time and by size, and the log start moves",
        "compaction": "a compacted topic keeps the last value of each key",
        "tombstones": "a null value removes its key at compaction",
        "many-partitions": "one consumer reads many partitions",
        "perf-tools": "Kafka's own load generators run to their end",
    },
    "admin": {
        "api-versions": "the versions and features that Apache Kafka advertises",
        "telemetry-off": "client telemetry is turned down cleanly",
        "create-topic": "create a topic with partitions, replication and configs",
        "create-validate": "validate-only creates nothing and reports what it would",
        "create-assignment": "create a topic with a given replica assignment",
        "create-errors": "existing topic, bad partitions, replication or assignment",
        "topic-names": "invalid topic names are refused, colliding ones too",
        "delete-topic": "delete a topic by name and by id; it is gone at once",
        "recreate-topic": "a topic deleted and created again is another, empty topic",
        "topic-ids": "topics have ids, the same wherever they are told",
        "create-partitions": "add partitions; fewer, the same and too many are refused",
        "list-topics": "list and describe topics, with leaders and replicas",
        "internal-topics": "internal topics are marked as such",
        "describe-configs": "configs with sources, synonyms, types and documentation",
        "alter-configs": "set, delete, append to and subtract from configs",
        "alter-configs-legacy": "replace all configs of a resource at once",
        "broker-configs": "dynamic broker configs, per broker and as the default",
        "bad-configs": "unknown keys and bad values are refused with a reason",
        "list-offsets": "offsets of partitions through the admin client",
        "delete-records": "delete records before an offset; the log start moves",
        "describe-cluster": "cluster id, controller and brokers",
        "describe-log-dirs": "log directories with sizes of partitions",
        "describe-producers": "active producers of a partition",
        "elect-leaders": "preferred election where none is needed says so",
        "reassignments": "list reassignments; move to the replicas that are there",
        "describe-quorum": "the metadata quorum's leader and voters",
        "features": "features: supported and finalized",
        "auto-create": "auto-creation by metadata, where it is on",
        "auto-create-off": "an unknown topic stays unknown where auto-creation is off",
        "acls-disabled": "ACL requests say that no authorizer is configured",
        "quotas": "client quotas can be set, described and removed",
        "metadata-growth": "clients notice topics and partitions that appear",
    },
    "groups": {
        "subscribe": "a group reads a topic from the beginning to its end",
        "commit": "committed offsets are where the next member starts",
        "commit-metadata": "commit metadata comes back; too much of it is refused",
        "offset-reset": "no committed offset: earliest, latest or an error",
        "rebalance-join": "a member that joins takes its share",
        "rebalance-leave": "a member that leaves gives its share back",
        "member-lost": "a member that vanishes loses its partitions",
        "assignors": "range, round-robin, sticky and cooperative assignment",
        "static-members": "static members keep their partitions over a restart",
        "pattern": "subscription by pattern takes up new topics",
        "commit-on-close": "a commit in the revoke callback of a closing consumer",
        "consumer-protocol": "KIP-848: join, read, commit, leave",
        "consumer-rebalance": "KIP-848: a member that joins takes its share",
        "consumer-regex": "KIP-848: subscription by the broker's regular expression",
        "consumer-assignors": "KIP-848: uniform and range assignment by the broker",
        "group-upgrade": "a group moves from the classic to the consumer protocol",
        "list-groups": "list groups by state and type",
        "describe-group": "describe a group: members, assignments, state, coordinator",
        "delete-group": "delete an empty group; one in use is refused",
        "alter-offsets": "change a group's offsets from outside",
        "delete-offsets": "delete a group's offsets of a topic",
        "list-group-offsets": "offsets of a group; an unknown group has none",
        "group-errors": "invalid group id, unknown member, stale generation",
        "simple-commits": "commits without membership",
        "group-scale": "one member, four, two, under load: every record, commits only forward",
        "group-killed": "a member killed without a word: the others take over, nothing skipped",
        "group-static-restart": "a static member back within its session: no rebalance",
        "group-keeps-receiving": "a cooperative rebalance never stops who keeps a partition",
        "group-pattern": "a pattern takes up a new topic, nothing skipped",
        "group-growth": "new partitions are taken up, nothing skipped",
        "group-restart": "the server restarts or is killed: members carry on",
        "share-groups": "share groups deliver each record to one member",
    },
    "transactions": {
        "txn-commit": "committed records of several partitions become visible together",
        "txn-abort": "aborted records stay invisible at read_committed",
        "txn-isolation": "read_uncommitted sees all; read_committed waits for the end",
        "txn-fencing": "a second producer of the same id fences the first",
        "txn-offsets": "offsets committed in a transaction follow its fate",
        "txn-exactly-once": "read, transform, write: each record once, through a restart",
        "txn-timeout": "a transaction that outlives its timeout is aborted",
        "txn-bad-timeout": "a timeout over the broker's maximum is refused",
        "txn-codecs": "compressed records in transactions",
        "txn-describe": "transactions and transactional ids are listed and described",
        "txn-admin-abort": "a hanging transaction is aborted from outside",
        "txn-admin-fence": "producers are fenced from outside",
    },
    "durability": {
        "restart": "a clean restart loses nothing",
        "kill": "after kill -9 every acknowledged record is there, once",
    },
    "security": {
        "tls": "records go there and back over TLS",
        "mtls": "who is there is known by a certificate, and nobody gets in without one",
        "sasl-plain": "PLAIN, over TLS and not",
        "sasl-scram": "SCRAM-SHA-256 and -512, over TLS and not",
        "sasl-oauthbearer": "OAUTHBEARER by tokens of a provider, over TLS and not",
        "login-refused": "who shows a wrong password or token is refused, and told so",
        "wrong-authority": "a server whose certificate is of another authority is not believed",
        "login-again": "sessions that end are renewed by a login on the same connection (KIP-368)",
        "users": "users of SCRAM are made, described and removed",
        "delegation-tokens": "delegation tokens are made, renewed, logged in with and ended",
    },
    "pipelines": {
        "connect-pipeline": "Connect: a file source and a file sink carry lines through a topic",
        "connect-restart": "Connect: exactly once past restarts of the worker and the server",
        "streams-exactly-once": "Streams: exactly_once_v2 counts each word once, whoever is killed",
        "streams-groups": "Streams: groups of the streams protocol (KIP-1071), and their tools",
        "streams-restore": "Streams: a state store comes back from its changelog",
        "spark-batch": "Spark reads a range by offsets and by timestamps, to Parquet",
        "spark-stream": "Spark counts by window and watermark, and restarts from its checkpoint",
        "spark-exactly-once": "Spark's results are exact though job and broker are killed",
        "spark-lag": "Spark tells lag and throughput out of the logs themselves",
        "spark-min-partitions": "Spark's minPartitions: more tasks than partitions",
        "spark-max-offsets": "Spark's maxOffsetsPerTrigger bounds a batch",
        "spark-data-loss": "Spark notices retention and a topic made anew, or steps over them",
        "spark-headers": "Spark writes and reads headers",
        "spark-pattern": "Spark's subscribePattern takes up a topic added while it runs",
        "spark-avro": "Spark writes and reads Avro values",
    },
}

BEHAVIOURS = {
    id: Behaviour(id, title, area) for area, rows in _TABLE.items() for id, title in rows.items()
}


def mark(*ids: str) -> pytest.MarkDecorator:
    """The mark of a test that proves these behaviours, for `pytest.param`."""
    unknown = set(ids) - set(BEHAVIOURS)
    assert not unknown, f"not in the list of behaviours: {sorted(unknown)}"
    return pytest.mark.behaviours(*ids)


def covers(*ids: str) -> Callable[[Test], Test]:
    """The same as a decorator that keeps the type of what it marks."""
    marked: Callable[[Test], Test] = mark(*ids)
    return marked
