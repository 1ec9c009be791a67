"""librdkafka itself, called with ctypes: the library that confluent-kafka carries.

Through confluent-kafka's Python objects a producer is the limit long before the broker. Here
one call takes ten thousand records that all point to the same bytes, and one call consumes
all that has come, so Python's share is near nothing. Function names and constants are those
of rdkafka.h.
"""

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import confluent_kafka

PRODUCER, CONSUMER = 0, 1
PARTITION_ANY = -1
OFFSET_BEGINNING = -2
_ERROR_SIZE = 512


class Message(ctypes.Structure):
    """rd_kafka_message_t."""

    _fields_ = (
        ("err", ctypes.c_int),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_size", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("private", ctypes.c_void_p),
    )


def load() -> ctypes.CDLL:
    folder = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    # The library's own libraries stand beside it and are found once the module is loaded.
    library = ctypes.CDLL(str(next(folder.glob("librdkafka-*"))))
    for name in ("conf_new", "new", "topic_new", "queue_new"):
        getattr(library, f"rd_kafka_{name}").restype = ctypes.c_void_p
    library.rd_kafka_err2str.restype = ctypes.c_char_p
    return library


def client(
    library: ctypes.CDLL,
    kind: int,
    settings: Mapping[str, object],
    heard: Callable[[bytes], None] | None = None,
) -> ctypes.c_void_p:
    """`heard` gets its statistics, as JSON, while it is polled."""
    error = ctypes.create_string_buffer(_ERROR_SIZE)
    conf = ctypes.c_void_p(library.rd_kafka_conf_new())
    for key, value in settings.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        arguments = (conf, key.encode(), text.encode(), error, _ERROR_SIZE)
        if library.rd_kafka_conf_set(*arguments) != 0:
            raise SystemExit(error.value.decode())
    if heard is not None:
        library.rd_kafka_conf_set_stats_cb(conf, _hearing(heard))
    handle = library.rd_kafka_new(kind, conf, error, _ERROR_SIZE)
    if not handle:
        raise SystemExit(error.value.decode())
    return ctypes.c_void_p(handle)


_Heard = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p
)
_hearers: list[Any] = []  # as long as the library may call them


def _hearing(heard: Callable[[bytes], None]) -> Any:
    def told(_: Any, text: bytes, size: int, __: Any) -> int:
        heard(text[:size])
        return 0

    callback = _Heard(told)
    _hearers.append(callback)
    return callback


def topic(library: ctypes.CDLL, handle: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
    return ctypes.c_void_p(library.rd_kafka_topic_new(handle, name.encode(), None))
