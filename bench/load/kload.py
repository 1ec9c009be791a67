"""kload from Python: builds it once, makes the frames that it repeats, reads what it found.

`bootstrap` may be several addresses with commas between them: connections take them in turn.
"""

import functools
import hashlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.row import Figures
from bench.wire import batch_of, fetch_frame, produce_error_at, produce_frame
from compat_tests.installation import Unavailable, cache

_SOURCE = Path(__file__).with_name("kload.c")
_FETCH_BYTES = 4 << 20

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Frames:
    """Requests to repeat, where their answers have an error code (0: nowhere), and how many
    records each stands for."""

    requests: tuple[bytes, ...]
    error_at: int
    records: int = 1

    @classmethod
    def of_produce(
        cls, partitions: Sequence[Partition], *, records: int, record_bytes: int, acks: int
    ) -> "Frames":
        """A request for each partition; their topics' names must be of one length."""
        batch = batch_of(records, record_bytes)
        requests = tuple(produce_frame(*each, batch, acks) for each in partitions)
        return cls(requests, produce_error_at(partitions[0][0]), records)


def closed(
    bootstrap: str,
    frames: Frames,
    *,
    connections: int,
    seconds: float,
    warm_seconds: float = 1,
    depth: int = 1,
) -> dict[str, Any]:
    """Each connection sends its next request when it has an answer."""
    times = ["closed", str(depth), f"{seconds:g}", f"{warm_seconds:g}"]
    return _run(bootstrap, frames, connections, times, ())


def open_loop(
    bootstrap: str,
    frames: Frames,
    *,
    connections: int,
    rate: int,
    seconds: float,
    warm_seconds: float = 3,
    reads: Sequence[Partition] = (),
) -> dict[str, Any]:
    """Records at an even rate, whatever the broker does. `reads`: partitions, one for
    each connection and new, that a consumer each reads at the same time."""
    times = ["open", str(rate), f"{seconds:g}", f"{warm_seconds:g}"]
    assert not reads or len(reads) == connections == len(frames.requests), "one of each"
    fetches = [fetch_frame(*each, _FETCH_BYTES) for each in reads]
    return _run(bootstrap, frames, connections, times, fetches)


def latency(found: dict[str, Any], kind: str = "ack") -> Figures:
    """The percentiles of what was found, in ms: `ack` or `e2e`."""
    percentiles: Figures = dict(found[kind])
    if "late" in found:
        percentiles["late_p99"] = found["late"]["p99"]
    return percentiles


def why_not() -> str | None:
    return None if shutil.which("cc") is not None else "no C compiler (cc) on the PATH"


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _run(
    bootstrap: str,
    frames: Frames,
    connections: int,
    times: list[str],
    fetches: Sequence[tuple[bytes, int]],
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="kafkapy-kload-") as scratch:
        requests = Path(scratch) / "requests"
        requests.write_bytes(b"".join(frames.requests))
        ports = ",".join(each.rpartition(":")[2] for each in bootstrap.split(","))
        command = [program(_SOURCE), ports, str(requests), str(connections)]
        command += [str(frames.error_at), str(frames.records), *times]
        if fetches:
            reads = Path(scratch) / "fetches"
            reads.write_bytes(b"".join(wire for wire, _ in fetches))
            [offset_at] = {at for _, at in fetches}
            command += [str(reads), str(offset_at), str(_FETCH_BYTES)]
        patience = 180 + float(times[2]) + float(times[3])
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=patience, check=False
        )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or f"kload ended with {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@functools.cache
def program(source: Path) -> str:
    """A C program of one file, built if it has changed."""
    if (reason := why_not()) is not None:
        raise Unavailable(reason)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    program = cache() / "programs" / f"{source.stem}-{digest}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        built = program.with_suffix(f".{os.getpid()}")  # others may be building it, too
        command = ["cc", "-O2", "-o", str(built), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise Unavailable(f"{source.stem} cannot be built: {done.stderr[-300:]}")
        built.rename(program)
    return str(program)
