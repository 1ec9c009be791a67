"""What the kernel says of a process: processor time, memory now and at its peak."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    cpu_seconds: float
    resident_mb: float
    peak_mb: float


def usage_of(pids: Sequence[int]) -> Usage:
    """Of the nodes of a server: processor time of all, memory of the largest."""
    each = [usage(pid) for pid in pids]
    return Usage(
        sum(one.cpu_seconds for one in each),
        max(one.resident_mb for one in each),
        max(one.peak_mb for one in each),
    )


def usage(pid: int) -> Usage:
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    sizes = {line.split(":")[0]: line.split()[1] for line in status if line.startswith("Vm")}
    return Usage(
        (int(stat[11]) + int(stat[12])) / _TICKS,
        int(sizes["VmRSS"]) * 1024 / 1e6,
        int(sizes["VmHWM"]) * 1024 / 1e6,
    )


def forget_peak(pid: int) -> None:
    """The peak of memory counts from now on (proc(5), clear_refs)."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def machine_cpu_seconds() -> float:
    """Processor time that all processes and the kernel have used since the machine started."""
    fields = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, *_ = fields
    return (user + nice + system + irq + softirq) / _TICKS
