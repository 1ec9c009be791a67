"""meta.properties: whose a log directory is.

Java properties with the keys version, cluster.id, node.id and directory.id; version 0, of
the ZooKeeper days, says broker.id. It is written last when a directory is formatted, so a
directory without it is not formatted, whatever else is in there. formats/log 3.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt
from kafkapy.core.time import Instant
from kafkapy.kraft.uuids import uuid_from_text, uuid_to_text

META_PROPERTIES: Final = "meta.properties"

_LINE: Final = re.compile(r"((?:[^\\=:\s]|\\.)*)[ \t\f]*[=: \t\f]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NAMED_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class MetaProperties:
    cluster_id: str | None
    node_id: int | None
    directory_id: UUID | None
    version: int = 1

    def render(self, now: Instant) -> bytes:
        """The file as Java writes it: comments, then one key a line."""
        when = datetime.fromtimestamp(now / 1000, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
        values = {
            "node.id" if self.version else "broker.id": self.node_id,
            "directory.id": self.directory_id and uuid_to_text(self.directory_id),
            "version": self.version,
            "cluster.id": self.cluster_id,
        }
        lines = [
            f"{key}={_escaped(str(value))}" for key, value in values.items() if value is not None
        ]
        return "\n".join(["#", f"#{when}", *lines, ""]).encode()


def parse_meta_properties(data: bytes) -> MetaProperties:
    """Corrupt if a value is not what its key wants."""
    values = _properties(data)
    version = _number(values, "version") or 0
    if version not in (0, 1):
        raise Corrupt(f"meta.properties version {version} is not known")
    properties = MetaProperties(
        cluster_id=values.get("cluster.id"),
        node_id=_number(values, "node.id" if version else "broker.id"),
        directory_id=uuid_from_text(values["directory.id"]) if "directory.id" in values else None,
        version=version,
    )
    if version == 1 and properties.cluster_id is None:
        raise Corrupt("cluster.id is missing")
    if version == 1 and properties.node_id is None:
        raise Corrupt("node.id is missing")
    return properties


def _properties(data: bytes) -> dict[str, str]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Corrupt(f"not text: {error}") from error
    values = {}
    for line in re.sub(r"\\\r?\n[ \t\f]*", "", text).splitlines():
        stripped = line.lstrip(" \t\f")
        if not stripped or stripped[0] in "#!":
            continue
        match = _LINE.fullmatch(stripped)
        assert match is not None, stripped
        values[_unescaped(match[1])] = _unescaped(match[2])
    return values


def _number(values: Mapping[str, str], key: str) -> int | None:
    text = values.get(key)
    if text is None:
        return None
    if not re.fullmatch(r"-?\d{1,10}", text):
        raise Corrupt(f"{key}={text} is not a number")
    return int(text)


def _escaped(value: str) -> str:
    escaped = re.sub(r"([\\=:#!])", r"\\\1", value)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        return _NAMED_ESCAPES.get(escape, escape)

    return _ESCAPE.sub(one, text)
