"""What settings can belong to: ConfigResource types on the wire and in ConfigRecords."""

from enum import IntEnum


class Resource(IntEnum):
    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32
