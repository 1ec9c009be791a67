"""Disks: slow ones, failing ones, lost ones, new and empty ones, and bits that flip.

Who loses what was flushed does so alone: `Nemesis.forgetful`.
"""

from collections.abc import Iterator
from typing import Final

from kafkapy.sim.cluster.host import Host
from kafkapy.sim.cluster.nemesis import SOON_MS, Nemesis

_LATENCIES_MS: Final = (20, 200, 1_500)
_FAILS: Final = ("append", "append", "flush", "write_file", "create", "rename", "any")
# Of a batch: its length and what that counts from, and where that begins of which it has the CRC.
_LENGTH_AT: Final = 8
_COUNTED_FROM: Final = 12
_CHECKED_FROM: Final = 21


def slow_disk(nemesis: Nemesis) -> None:
    """Every fsync takes up to so long."""
    host = nemesis.host()
    host.disk_latency_ms = nemesis.rng.choice(_LATENCIES_MS)
    nemesis.note("slows the disk of", host.name, host.disk_latency_ms)

    def end() -> None:
        host.disk_latency_ms = 0

    nemesis.lasts(end)


def fail_disk(nemesis: Nemesis) -> None:
    """One operation soon fails, in one of the directories, if there are so many."""
    host = nemesis.mortal()
    if host is not None:
        kind = nemesis.rng.choice(_FAILS)
        path = nemesis.rng.choice(_directories(host))
        nemesis.note("fails", kind, "of", host.name, path)
        host.disk.fail(kind, in_path=path, nth=nemesis.rng.magnitude(1, 50))
        nemesis.after(SOON_MS, host.disk.forget_faults)


def lose_directory(nemesis: Nemesis) -> None:
    """All that is asked of one of the directories fails, also at the next start; then it is back
    as it was, and the node is started again."""
    host = nemesis.mortal()
    if host is None or host.disk.has_lost_directories:
        return
    path = nemesis.rng.choice(_directories(host))
    nemesis.note("loses", host.name, path)
    host.disk.lose(path)

    def is_back() -> None:
        nemesis.note("is back", host.name, path)
        host.disk.mend()
        if host.is_alive and host.has_lost_a_directory and not host.is_paused:
            host.kill()

    nemesis.lasts(is_back)


def empty_disk(nemesis: Nemesis) -> None:
    """The machine dies and comes back with new disks. A voter keeps the one that says whom it
    voted for: without it, it is another voter (`change-voters`)."""
    host = nemesis.forgetful()
    if host is None:
        return
    host.kill()
    paths = _directories(host)
    if host in nemesis.world.controllers:
        paths = paths[1:]
    nemesis.note("has new disks", host.name, *paths)
    for path in paths:
        host.disk.remove_tree(path)
        host.disk.make_directory(path)
        # It is a disk, not an entry that a failing power may take back.
        host.disk.flush_directory(path.rpartition("/")[0])
    nemesis.world.format(host)


def flip_bit(nemesis: Nemesis) -> None:
    """In what was flushed long ago; then the process dies, and its recovery reads what it may
    doubt: the last segment of each log. What lies before nobody reads again until a consumer
    or a follower asks, as in Apache Kafka."""
    host = nemesis.forgetful()
    if host is None:
        return
    found = [(path, span) for path in _last_segments(host) for span in _checked(host, path)]
    host.kill()
    if found:
        path, (start, end) = nemesis.rng.choice(found)
        position, bit = nemesis.rng.between(start, end - 1), nemesis.rng.below(8)
        nemesis.note("flips", host.name, path, position, bit)
        host.disk.flip(path, position, 1 << bit)


def _directories(host: Host) -> list[str]:
    """The first one has the metadata."""
    return host.settings["log.dirs"].split(",")


def _last_segments(host: Host) -> Iterator[str]:
    if host.node is not None and host.node.broker is not None:
        for partition in host.node.broker.partitions:
            if not partition.is_offline:
                yield partition.log.segments.active.file.path


def _checked(host: Host, path: str) -> Iterator[tuple[int, int]]:
    """Of each batch, from where to where its CRC covers it."""
    data = host.disk.contents(path)
    at = 0
    while at + _COUNTED_FROM <= len(data):
        length = int.from_bytes(data[at + _LENGTH_AT : at + _COUNTED_FROM], "big")
        end = at + _COUNTED_FROM + length
        if end > len(data):
            return
        yield at + _CHECKED_FROM, end
        at = end
