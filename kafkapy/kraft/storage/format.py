"""`format`: make empty directories the log directories of one node.

What Kafka 4.3.1's `kafka-storage format` writes:

    <dir>/bootstrap.checkpoint     in every directory: the first metadata records
    <metadata dir>/__cluster_metadata-0/0...0-0...0.checkpoint
                                   a dynamic quorum's first voters (kraft.version 1)
    <dir>/meta.properties          last, so that a half-formatted directory is not formatted

Directories that hold something foreign are refused. formats/log 3, formats/metadata 5.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Disk, Rng
from kafkapy.core.time import Instant
from kafkapy.kraft.features import (
    FEATURES,
    KRAFT_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    MINIMUM_METADATA_VERSION,
    default_levels,
    missing_dependency,
)
from kafkapy.kraft.log.snapshot_file import BOOTSTRAP_SNAPSHOT, SUFFIX, snapshot_batches
from kafkapy.kraft.quorum.voters import ReplicaKey, Voter, VoterAddress, VoterSet
from kafkapy.kraft.records.metadata import FeatureLevelRecord, MetadataRecord
from kafkapy.kraft.storage.adoption import (
    METADATA_DIRECTORY,
    DirectoryRefused,
    inspect,
    make_directory,
    verify,
)
from kafkapy.kraft.storage.bootstrap import BOOTSTRAP_CHECKPOINT, bootstrap_file, default_bootstrap
from kafkapy.kraft.storage.meta_properties import META_PROPERTIES, MetaProperties
from kafkapy.kraft.uuids import new_uuid, uuid_to_text


@dataclass(frozen=True, slots=True)
class Formatted:
    """`directory_ids` of all directories; `new` are those that were formatted just now."""

    cluster_id: str
    directory_ids: dict[str, UUID]
    new: tuple[str, ...]


def format_directories(
    disk: Disk,
    rng: Rng,
    now: Instant,
    paths: Sequence[str],
    *,
    cluster_id: str | None,
    node_id: int,
    metadata_path: str | None = None,
    standalone: VoterAddress | None = None,
    initial_voters: VoterSet | None = None,
    metadata_version: int = LATEST_METADATA_VERSION,
    features: Mapping[str, int] | None = None,
    extra: Iterable[MetadataRecord] = (),
    ignore_formatted: bool = False,
) -> Formatted:
    """Format what is empty of `paths`; a cluster id of None is taken from formatted ones,
    or drawn.

    `standalone` (this controller's endpoint) or `initial_voters` make a dynamic quorum;
    without them the voters come from the configuration, or none are known yet. `extra` are
    more first records, as of SCRAM users.
    """
    metadata_path = metadata_path or paths[0]
    found = inspect(disk, [metadata_path, *paths])
    verify(found, cluster_id=cluster_id, node_id=node_id)
    if found.formatted and not ignore_formatted:
        raise DirectoryRefused(f"{next(iter(found.formatted))} is formatted already.")
    if found.failed and not (found.empty or found.formatted):
        path, cause = next(iter(found.failed.items()))
        raise DirectoryRefused(f"{path} cannot be read: {cause}.")
    bootstrap = _bootstrap(metadata_version, features or {}, extra)
    for path in found.empty:
        _refuse_foreign(disk, path)
    cluster_id = cluster_id or found.cluster_id or uuid_to_text(new_uuid(rng))
    directory_ids = found.directory_ids
    for path in found.empty:
        directory_id = _new_directory_id(rng, directory_ids)
        voters = initial_voters
        if path != metadata_path:
            voters = None
        elif standalone is not None:
            voters = VoterSet([Voter(ReplicaKey(node_id, directory_id), (standalone,))])
        elif voters is not None and (own := voters.get(node_id)) is not None:
            assert own.key.directory_id is not None, "initial voters name their directories"
            directory_id = own.key.directory_id
        try:
            _format(disk, now, path, bootstrap, voters)
            properties = MetaProperties(cluster_id, node_id, directory_id)
            disk.write_file(f"{path}/{META_PROPERTIES}", properties.render(now))
        except DiskFailed as failure:
            raise DirectoryRefused(f"{path} cannot be formatted: {failure.cause}.") from failure
        directory_ids[path] = directory_id
    return Formatted(cluster_id, directory_ids, found.empty)


def _new_directory_id(rng: Rng, taken: Mapping[str, UUID]) -> UUID:
    while True:
        drawn = new_uuid(rng)
        if drawn not in taken.values():
            return drawn


def _bootstrap(
    metadata_version: int, features: Mapping[str, int], extra: Iterable[MetadataRecord]
) -> list[MetadataRecord]:
    if not MINIMUM_METADATA_VERSION <= metadata_version <= LATEST_METADATA_VERSION:
        raise DirectoryRefused(f"{METADATA_VERSION} {metadata_version} is not supported.")
    for name, level in features.items():
        feature = FEATURES.get(name)
        if feature is None or name == KRAFT_VERSION:
            raise DirectoryRefused(f"There is no feature {name} that could be set.")
        if not 0 <= level <= feature.latest:
            raise DirectoryRefused(f"{name} {level} is not supported: 0 to {feature.latest} are.")
        if (missing := missing_dependency(name, level, metadata_version)) is not None:
            raise DirectoryRefused(f"{missing}.")
    if not features:
        return default_bootstrap(metadata_version, extra)
    levels = default_levels(metadata_version) | dict(features)
    names = sorted(levels.keys() - {METADATA_VERSION})
    return [
        FeatureLevelRecord(name=name, feature_level=levels[name])
        for name in (METADATA_VERSION, *names)
        if levels[name] > 0
    ] + list(extra)


def _refuse_foreign(disk: Disk, path: str) -> None:
    """Formatting must not claim what belongs to somebody else."""
    if not disk.exists(path):
        return
    for name in disk.list(path):
        inside = f"{path}/{name}"
        if not disk.is_directory(inside):
            continue
        unfinished = name == METADATA_DIRECTORY and all(
            one.startswith(BOOTSTRAP_SNAPSHOT.file_name.removesuffix(SUFFIX))
            for one in disk.list(inside)
        )
        if not unfinished:
            raise DirectoryRefused(
                f"{path} has no {META_PROPERTIES} but holds {name}: it is not empty, "
                "and not one of this node's directories."
            )


def _format(
    disk: Disk,
    now: Instant,
    path: str,
    bootstrap: list[MetadataRecord],
    voters: VoterSet | None,
) -> None:
    make_directory(disk, path)
    disk.write_file(f"{path}/{BOOTSTRAP_CHECKPOINT}", bootstrap_file(bootstrap, now))
    if voters is None:
        return
    metadata_log = f"{path}/{METADATA_DIRECTORY}"
    make_directory(disk, metadata_log)
    batches = snapshot_batches(
        (),
        epoch=BOOTSTRAP_SNAPSHOT.epoch,
        metadata_version=0,
        last_contained_timestamp=now,
        now=now,
        kraft_version=1,
        voters=voters,
    )
    disk.write_file(f"{metadata_log}/{BOOTSTRAP_SNAPSHOT.file_name}", b"".join(batches))
