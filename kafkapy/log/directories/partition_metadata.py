"""The `partition.metadata` file: which topic id a partition's directory belongs to.

version: 0
topic_id: <22 characters of URL-safe base64>         (no newline at the end; formats/log 5)
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final
from uuid import UUID

from kafkapy.core.errors import DiskFailed
from kafkapy.core.seams import Disk
from kafkapy.log.names import PARTITION_METADATA

_SEPARATOR: Final = re.compile(r":\s+")


def encode_partition_metadata(topic_id: UUID) -> bytes:
    text = urlsafe_b64encode(topic_id.bytes).rstrip(b"=").decode()
    return f"version: 0\ntopic_id: {text}".encode()


def read_topic_id(disk: Disk, directory: str) -> UUID | None:
    """None if there is no such file yet: Kafka writes it lazily."""
    path = f"{directory}/{PARTITION_METADATA}"
    try:
        text = disk.read_file(path).decode()
        fields = dict(_SEPARATOR.split(line, maxsplit=1) for line in text.splitlines())
        topic_id = UUID(bytes=urlsafe_b64decode(fields["topic_id"] + "=="))
        if int(fields["version"]) < 0 or topic_id.int == 0:
            raise ValueError(text)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError):
        raise DiskFailed(path, "malformed partition metadata") from None
    return topic_id
