"""The log directories of a node, as a whole: are they ours, and do they agree?

All formatted directories must name the same cluster and node, each with a directory id of
its own. `inspect` looks, `adopt` is what a starting node does with what it found. Every
refusal is one sentence that names the directory. formats/log 1 and 3.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt, DiskFailed
from kafkapy.core.seams import Disk, Rng
from kafkapy.core.time import Instant
from kafkapy.kraft.storage.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    parse_meta_properties,
)
from kafkapy.kraft.uuids import is_reserved_directory, new_uuid, uuid_to_text

METADATA_DIRECTORY: Final = "__cluster_metadata-0"


class DirectoryRefused(Exception):
    """The log directories cannot be used as they are; the message says which and why."""


@dataclass(frozen=True, slots=True)
class LogDirectories:
    """What `inspect` found: formatted directories, empty ones, and what failed and how."""

    formatted: dict[str, MetaProperties]
    empty: tuple[str, ...]
    failed: dict[str, str]

    @property
    def cluster_id(self) -> str | None:
        ids = (properties.cluster_id for properties in self.formatted.values())
        return next(filter(None, ids), None)

    @property
    def directory_ids(self) -> dict[str, UUID]:
        return {
            path: properties.directory_id
            for path, properties in self.formatted.items()
            if properties.directory_id is not None
        }


def inspect(disk: Disk, paths: Sequence[str]) -> LogDirectories:
    """Read every meta.properties. A disk that fails is noted; nonsense in it is refused."""
    formatted: dict[str, MetaProperties] = {}
    empty: list[str] = []
    failed: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        if disk.exists(path) and not disk.is_directory(path):
            raise DirectoryRefused(f"The log directory {path} is a file, not a directory.")
        try:
            formatted[path] = parse_meta_properties(disk.read_file(f"{path}/{META_PROPERTIES}"))
        except FileNotFoundError:
            empty.append(path)
        except DiskFailed as failure:
            failed[path] = failure.cause
        except Corrupt as problem:
            raise DirectoryRefused(f"{path}/{META_PROPERTIES} is not valid: {problem}.") from None
    return LogDirectories(formatted, tuple(empty), failed)


def make_directory(disk: Disk, path: str) -> None:
    """Durably: what is written into it later is only as durable as its name."""
    missing = []
    above = path
    while above and not disk.exists(above):
        missing.append(above)
        above = above.rpartition("/")[0]
    if missing:
        disk.make_directory(path)
    for one in missing:
        disk.flush_directory(one.rpartition("/")[0] or "/")


def verify(found: LogDirectories, *, cluster_id: str | None, node_id: int) -> None:
    """Refuse directories of another cluster or node, and ids that occur twice."""
    owners: dict[UUID, str] = {}
    for path, properties in found.formatted.items():
        name = f"{path}/{META_PROPERTIES}"
        cluster_id = cluster_id or properties.cluster_id
        if properties.cluster_id not in (None, cluster_id):
            raise DirectoryRefused(
                f"{name} belongs to the cluster {properties.cluster_id}, not to {cluster_id}."
            )
        if properties.node_id not in (None, node_id):
            raise DirectoryRefused(
                f"{name} belongs to node.id {properties.node_id}, but this is node {node_id}: "
                "set node.id to that, or use another directory."
            )
        directory_id = properties.directory_id
        if directory_id is None:
            continue
        if is_reserved_directory(directory_id):
            raise DirectoryRefused(
                f"{name} has the reserved directory.id {uuid_to_text(directory_id)}."
            )
        if directory_id in owners:
            raise DirectoryRefused(
                f"{path} and {owners[directory_id]} have the same directory.id "
                f"{uuid_to_text(directory_id)}: one of them is a copy of the other."
            )
        owners[directory_id] = path


def adopt(
    disk: Disk, rng: Rng, now: Instant, paths: Sequence[str], *, metadata_path: str, node_id: int
) -> LogDirectories:
    """What a node does first: every directory that can be read must be formatted and ours.
    Directories from before directories had ids get one."""
    found = inspect(disk, [metadata_path, *paths])
    verify(found, cluster_id=None, node_id=node_id)
    if metadata_path in found.failed:
        raise DirectoryRefused(
            f"The metadata log directory {metadata_path} cannot be read: "
            f"{found.failed[metadata_path]}."
        )
    for path in found.empty:
        raise DirectoryRefused(f"{path} has no {META_PROPERTIES}: format it first.")
    for path, properties in list(found.formatted.items()):
        metadata_log = f"{path}/{METADATA_DIRECTORY}"
        if path != metadata_path and disk.exists(metadata_log):
            raise DirectoryRefused(
                f"{metadata_log} is in the way: the metadata log directory is {metadata_path}."
            )
        if properties.node_id is None or properties.cluster_id is None:
            missing = "node.id" if properties.node_id is None else "cluster.id"
            raise DirectoryRefused(f"{path}/{META_PROPERTIES} has no {missing}.")
        if properties.directory_id is None:
            named = replace(properties, directory_id=new_uuid(rng))
            disk.write_file(f"{path}/{META_PROPERTIES}", named.render(now))
            found.formatted[path] = named
    return found
