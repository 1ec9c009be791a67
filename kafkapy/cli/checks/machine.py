"""What this machine says of itself: names, ports, disks, limits. A test breaks one of these."""

import errno
import os
import resource
import socket
import time
from typing import Final

_FSYNCS: Final = 20
_BLOCK: Final = b"\0" * 4096
_PROBE: Final = ".doctor"


class Machine:
    """`root` is where /proc and /sys are."""

    def __init__(self, root: str = "") -> None:
        self._root = root

    # --- names and ports ---

    def addresses(self, host: str) -> list[str]:
        """None if nobody knows the name."""
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return []
        return list(dict.fromkeys(str(one[4][0]) for one in found))

    def is_own(self, address: str) -> bool:
        """Whether a socket can be bound to it."""
        return self.why_not_bound(address, 0) != errno.EADDRNOTAVAIL

    def why_not_bound(self, host: str, port: int) -> int | None:
        """The error number with which a listener there would fail."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((host, port))
                sock.listen(1)
            except OSError as failed:
                return failed.errno
        return None

    def takes_connections(self, host: str, port: int, timeout_s: float) -> bool:
        try:
            socket.create_connection((host, port), timeout_s).close()
        except (OSError, UnicodeError):
            return False
        return True

    # --- disks ---

    def space(self, path: str) -> tuple[int, int]:
        """Bytes in all, and those that may be used, where `path` is or will be."""
        found = os.statvfs(_there(path))
        return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize

    def fsync_seconds(self, path: str) -> list[float]:
        """Of small appends to a file there, sorted. OSError if it cannot be written."""
        name = os.path.join(_there(path), f"{_PROBE}-{os.getpid()}")
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            took = []
            for _ in range(_FSYNCS):
                os.write(descriptor, _BLOCK)
                began = time.monotonic()
                os.fsync(descriptor)
                took.append(time.monotonic() - began)
            return sorted(took)
        finally:
            os.close(descriptor)
            os.unlink(name)

    # --- limits ---

    def open_files(self) -> int | None:
        """How many a node may come to have; None if any number."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if hard == resource.RLIM_INFINITY else hard

    def kernel(self, name: str) -> int | None:
        """As sysctl has it: net.core.somaxconn."""
        return self._number(f"/proc/sys/{name.replace('.', '/')}")

    def memory(self) -> int | None:
        """Bytes that this process may have: of the machine, or of its container if less."""
        amounts = [
            self._number("/sys/fs/cgroup/memory.max"),
            self._number("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
            self._meminfo("MemTotal"),
        ]
        return min((one for one in amounts if one is not None), default=None)

    def swap(self) -> int:
        return self._meminfo("SwapTotal") or 0

    def _meminfo(self, name: str) -> int | None:
        for line in self._text("/proc/meminfo").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
        return None

    def _number(self, path: str) -> int | None:
        text = self._text(path).strip()
        return int(text) if text.isdecimal() else None

    def _text(self, path: str) -> str:
        try:
            with open(self._root + path, encoding="ascii") as file:
                return file.read()
        except OSError:
            return ""


def _there(path: str) -> str:
    """The nearest directory that is there already."""
    while not os.path.isdir(path):
        path = os.path.dirname(path) or "."
    return path
