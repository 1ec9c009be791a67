"""An identity provider's keys, in a file: read anew when it has been replaced.

Whoever fetches the file from the provider writes it whole (to another name, then renamed). One
that cannot be read any more changes nothing, and is said once.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkapy.broker.security.signed_tokens import BadKeys, read_keys
from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Disk, Journal

if TYPE_CHECKING:
    from kafkapy.broker.security.signed_tokens import PublicKey


class KeyFile:
    def __init__(self, disk: Disk, journal: Journal, path: str) -> None:
        self.path = path
        self._disk = disk
        self._journal = journal
        self._seen: tuple[int, int] | None = None
        self._keys: Mapping[str, PublicKey] = {}

    def __call__(self) -> "Mapping[str, PublicKey]":
        try:
            seen = (self._disk.modified_ms(self.path), self._disk.size(self.path))
            if seen != self._seen:
                self._seen = seen
                self._keys = read_keys(self._disk.read_file(self.path))
        except (DiskFailed, OSError, BadKeys) as bad:
            self._journal.error("keys of tokens not read", path=self.path, reason=bad)
        return self._keys
