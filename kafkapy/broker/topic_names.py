"""What may be the name of a topic: it becomes a directory name."""

import re
from typing import Final

from kafkapy.core.limits import MAX_TOPIC_NAME_LENGTH

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def is_legal_topic_name(name: str) -> bool:
    return (
        len(name) <= MAX_TOPIC_NAME_LENGTH
        and name not in (".", "..")
        and _LEGAL.fullmatch(name) is not None
    )
