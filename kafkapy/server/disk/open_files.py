"""How many of the descriptors that a process may have are for files."""

from typing import Final

from kafkapy.core.seams import Journal

# A partition that is written to has one, and opening it again takes longer than writing a small
# batch. Half of what there is at most: the rest is for connections.
_MAX_OPEN_FILES: Final = 16_384
_FEW_CONNECTIONS: Final = 2048
_MANY: Final = 1 << 20
# Of the rest so many are not for clients' connections: what is opened for a moment (checkpoints,
# directories that are flushed, modules), other nodes, readers' files that were closed meanwhile.
_SPARE: Final = 64


def room_for_files(journal: Journal) -> int:
    """Raise the process's limit of descriptors as far as it goes; how many are for files."""
    import resource  # only where there is a limit; a test kit in memory runs elsewhere too

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MANY if hard == resource.RLIM_INFINITY else min(hard, _MANY)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    limit = _MANY if soft == resource.RLIM_INFINITY else soft
    files = min(_MAX_OPEN_FILES, limit // 2)
    if limit - files < _FEW_CONNECTIONS:
        journal.warning(
            "few open files allowed", limit=limit, connections=limit - files,
            remedy="raise the hard limit (ulimit -Hn)",
        )  # fmt: skip
    return files


def most_for_connections(files: int, open_files: int) -> int:
    """Which descriptor a client's connection may have at most, while `open_files` of the `files`
    there is room for are open. The system hands out the lowest that is free; a node without one for
    its files would take that for a disk that fails."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _MANY if soft == resource.RLIM_INFINITY else soft
    return limit - _SPARE - max(0, files - open_files)
