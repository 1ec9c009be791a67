"""Bounds that Kafka and sense set, each with its reason.

What a client or a file says about a length is believed only up to these. Limits that an
operator sets (socket.request.max.bytes, message.max.bytes ...) live in broker/config; how
much is done at a time stands beside what does it.
"""

from typing import Final

# Kafka's own: a topic name becomes a directory name, with "-<partition>" and a suffix.
MAX_TOPIC_NAME_LENGTH: Final = 249

# A decompressed batch larger than this is a bomb, not data: Kafka's largest frame
# (socket.request.max.bytes, 100 MiB) holding text compresses at most a few times.
MAX_DECOMPRESSED_BATCH_BYTES: Final = 512 * 1024 * 1024

# A producer's compressed batch that unpacks to more is looked into in slices (log/examining.py).
# As much as a batch that is not compressed may have by default, which is looked into in one step.
MOST_UNPACKED_AT_ONCE_BYTES: Final = 1024 * 1024

# Requests of one connection that may be in the works at once. Kafka works on one; five is
# what idempotent clients keep in flight, the rest is room for other pipelines.
MAX_REQUESTS_IN_FLIGHT_PER_CONNECTION: Final = 64

# What a consumer is given at a time, unless it asks for more by fetch.min.bytes, whatever its
# fetch.max.bytes (50 MiB): the next answer is read from the disk while this one is unpacked,
# into memory that the client has used before (100 partitions: 0.5M to 0.9M records a second).
# TCP has no more than that on its way (tcp_rmem: 6 MiB).
FETCH_ANSWER_BYTES: Final = 8 * 1024 * 1024

# Batches a producer may retry and still be recognised: max.in.flight of idempotent clients.
PRODUCER_BATCHES_REMEMBERED: Final = 5
