"""The first records of a cluster: what `format` decided, and how they enter the log.

The first active controller of an empty log writes them in one metadata transaction:

    BeginTransaction("Bootstrap records") | bootstrap records
        | ConfigRecord min.insync.replicas, if eligible leader replicas are on
        | EndTransaction

They come from `bootstrap.checkpoint` (Kafka up to 4.3), or stand in the 0-0 snapshot
(4.4, KIP-1170), or are just the newest metadata.version. formats/metadata 2 and 5.
"""

from collections.abc import Iterable
from typing import Final

from kafkapy.core.seams import Disk
from kafkapy.core.time import Instant
from kafkapy.kraft.features import (
    ELR_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_TRANSACTIONS,
    METADATA_VERSION,
    default_levels,
)
from kafkapy.kraft.image.image import BROKER_RESOURCE, MetadataImage
from kafkapy.kraft.log.snapshot_file import BOOTSTRAP_SNAPSHOT, read_snapshot
from kafkapy.kraft.records.codec import encode_record, version_to_write
from kafkapy.kraft.records.control import SnapshotFooter, SnapshotHeader, build_control_batch
from kafkapy.kraft.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    MetadataRecord,
)
from kafkapy.kraft.storage.adoption import METADATA_DIRECTORY
from kafkapy.protocol.batches.batch import NewRecord, build_batch

BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"


def default_bootstrap(
    metadata_version: int = LATEST_METADATA_VERSION, extra: Iterable[MetadataRecord] = ()
) -> list[MetadataRecord]:
    """What `format` writes: all features at the defaults of the release, then `extra`."""
    return [
        *(
            FeatureLevelRecord(name=name, feature_level=level)
            for name, level in default_levels(metadata_version).items()
        ),
        *extra,
    ]


def bootstrap_file(bootstrap: Iterable[MetadataRecord], now: Instant) -> bytes:
    """The bytes of bootstrap.checkpoint. Its header knows no time: 0, as Kafka's."""
    framed = [
        NewRecord(value=encode_record(record, version_to_write(record, 0)), timestamp=now)
        for record in bootstrap
    ]
    header = [SnapshotHeader(last_contained_log_timestamp=0)]
    return b"".join(
        (
            build_control_batch(header, base_offset=0, leader_epoch=0, now=now),
            build_batch(framed, base_offset=1, leader_epoch=0),
            build_control_batch(
                [SnapshotFooter()], base_offset=1 + len(framed), leader_epoch=0, now=now
            ),
        )
    )


def read_bootstrap(disk: Disk, metadata_path: str) -> list[MetadataRecord]:
    """The records for an empty log, from wherever this directory has them."""
    candidates = (
        f"{metadata_path}/{METADATA_DIRECTORY}/{BOOTSTRAP_SNAPSHOT.file_name}",
        f"{metadata_path}/{BOOTSTRAP_CHECKPOINT}",
    )
    for path in candidates:
        if disk.exists(path):
            found = [one for batch in read_snapshot(disk.open(path)) for one in batch.records]
            if found:
                return found
    return [FeatureLevelRecord(name=METADATA_VERSION, feature_level=LATEST_METADATA_VERSION)]


def activation_records(
    image: MetadataImage, bootstrap: Iterable[MetadataRecord], min_insync_replicas: int
) -> list[MetadataRecord]:
    """What a new active controller appends first, given what is committed; often nothing."""
    activation: list[MetadataRecord] = []
    if image.is_in_transaction:
        activation.append(AbortTransactionRecord(reason="Controller failover"))
    if image.metadata_version > 0:
        return activation
    first = list(bootstrap)
    levels = {one.name: one.feature_level for one in first if isinstance(one, FeatureLevelRecord)}
    if levels.get(ELR_VERSION, 0) > 0:
        first.append(
            ConfigRecord(
                resource_type=BROKER_RESOURCE,
                resource_name="",
                name="min.insync.replicas",
                value=str(min_insync_replicas),
            )
        )
    if levels[METADATA_VERSION] < METADATA_TRANSACTIONS:
        return activation + first
    begin = BeginTransactionRecord(name="Bootstrap records")
    return [*activation, begin, *first, EndTransactionRecord()]
