"""How many of the descriptors that a process may have are for files."""

from typing import Final

from kafkapy.core.seams import Journal

# A partition that is written to has one, and opening it again takes longer than writing a small
# batch. Half of what there is at most: the rest is for connections.
_MAX_OPEN_FILES: Final = 16_384
_FEW_CONNECTIONS: Final = 2048
_MANY: Final = 1 << 20


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
