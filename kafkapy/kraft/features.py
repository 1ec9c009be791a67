"""Feature levels: metadata.version and the features that are finalized beside it.

A level says what the cluster has agreed to write and speak. What is supported is fixed
here, as Apache Kafka 4.3.1 supports it, and share.version 2 of 4.4; what is finalized stands
in the image. A level of 0 means "not enabled" and is not written. formats/metadata 3.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
GROUP_VERSION: Final = "group.version"
TRANSACTION_VERSION: Final = "transaction.version"
ELR_VERSION: Final = "eligible.leader.replicas.version"
SHARE_VERSION: Final = "share.version"
STREAMS_VERSION: Final = "streams.version"

MINIMUM_METADATA_VERSION: Final = 7
LATEST_METADATA_VERSION: Final = 30

# The first level at which something may be written or spoken.
SCRAM_RECORDS: Final = 11
NO_EPOCH_BUMP_ON_ISR_SHRINK: Final = 12
METADATA_TRANSACTIONS: Final = 13
DELEGATION_TOKEN_RECORDS: Final = 14
CONTROLLER_REGISTRATION: Final = 15
DIRECTORY_ASSIGNMENT: Final = 17
ELR_FIELDS: Final = 23
CORDONED_LOG_DIRS: Final = 30
# Of share.version.
DEAD_LETTERS: Final = 2


class MetadataVersion(NamedTuple):
    """`changes_metadata`: records are written that the level before cannot read."""

    level: int
    name: str
    changes_metadata: bool


METADATA_VERSIONS: Final[tuple[MetadataVersion, ...]] = tuple(
    MetadataVersion(*row)
    for row in (
        (7, "3.3-IV3", True),
        (8, "3.4-IV0", True),
        (9, "3.5-IV0", False),
        (10, "3.5-IV1", False),
        (11, "3.5-IV2", True),
        (12, "3.6-IV0", False),
        (13, "3.6-IV1", True),
        (14, "3.6-IV2", True),
        (15, "3.7-IV0", True),
        (16, "3.7-IV1", False),
        (17, "3.7-IV2", True),
        (18, "3.7-IV3", False),
        (19, "3.7-IV4", False),
        (20, "3.8-IV0", False),
        (21, "3.9-IV0", False),
        (22, "4.0-IV0", False),
        (23, "4.0-IV1", True),
        (24, "4.0-IV2", False),
        (25, "4.0-IV3", False),
        (26, "4.1-IV0", False),
        (27, "4.1-IV1", False),
        (28, "4.2-IV0", False),
        (29, "4.2-IV1", False),
        (30, "4.3-IV0", True),
    )
)
_VERSIONS_BY_LEVEL: Final = {version.level: version for version in METADATA_VERSIONS}


class Feature(NamedTuple):
    """`since[n - 1]` is the metadata.version from which on level n is the default of a new
    cluster; `needs[n - 1]` the lowest metadata.version at which level n may be finalized."""

    name: str
    since: tuple[int, ...]
    needs: tuple[int, ...]

    @property
    def latest(self) -> int:
        return len(self.since)


_LOWEST = MINIMUM_METADATA_VERSION
FEATURES: Final[Mapping[str, Feature]] = MappingProxyType(
    {
        feature.name: feature
        for feature in (
            Feature(ELR_VERSION, (26,), (ELR_FIELDS,)),
            Feature(GROUP_VERSION, (22,), (_LOWEST,)),
            Feature(KRAFT_VERSION, (21,), (_LOWEST,)),
            # Level 2 is of 4.4 (metadata.version 31): it can be finalized, but is not by itself.
            Feature(SHARE_VERSION, (28, 31), (_LOWEST, _LOWEST)),
            Feature(STREAMS_VERSION, (29,), (_LOWEST,)),
            Feature(TRANSACTION_VERSION, (24, 24), (_LOWEST, _LOWEST)),
        )
    }
)

# What this node supports of each feature: (lowest, highest) level.
SUPPORTED_FEATURES: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {METADATA_VERSION: (MINIMUM_METADATA_VERSION, LATEST_METADATA_VERSION)}
    | {feature.name: (0, feature.latest) for feature in FEATURES.values()}
)


def metadata_version_name(level: int) -> str:
    """ "4.3-IV0" for 30; the bare number for a level that is not known here."""
    version = _VERSIONS_BY_LEVEL.get(level)
    return str(level) if version is None else version.name


def metadata_version_level(name: str) -> int | None:
    """The level of "4.3-IV0", or of a release: the highest level of "4.3"."""
    levels = [
        version.level
        for version in METADATA_VERSIONS
        if version.name == name or version.name.startswith(f"{name}-IV")
    ]
    return max(levels, default=None)


def downgrade_is_lossy(current: int, target: int) -> bool:
    """Whether records may have been written at `current` that `target` cannot read."""
    return any(
        version.changes_metadata
        for version in METADATA_VERSIONS
        if target < version.level <= current
    )


def default_levels(metadata_version: int = LATEST_METADATA_VERSION) -> dict[str, int]:
    """The levels of a new cluster, as FeatureLevelRecords are written: metadata.version
    first, then by name. kraft.version is not among them: a control record says it."""
    levels = {METADATA_VERSION: metadata_version}
    for name, feature in FEATURES.items():
        level = sum(since <= metadata_version for since in feature.since)
        if level > 0 and name != KRAFT_VERSION:
            levels[name] = level
    return levels


def missing_dependency(name: str, level: int, metadata_version: int) -> str | None:
    """Why `level` of feature `name` cannot be finalized at this metadata.version."""
    feature = FEATURES.get(name)
    if feature is None:
        return None  # nobody knows it, and it is refused
    if level > 0 and metadata_version < feature.needs[level - 1]:
        return (
            f"{name}={level} needs {METADATA_VERSION} {feature.needs[level - 1]} "
            f"({metadata_version_name(feature.needs[level - 1])}) or higher"
        )
    return None
