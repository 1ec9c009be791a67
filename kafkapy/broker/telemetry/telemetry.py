"""What clients are asked to push of their metrics, and what they pushed last (KIP-714).

    subscriptions     client-metrics configs: prefixes of metrics, an interval, whom it is about
    GetTelemetry      those that match the client, as one: all prefixes, the shortest interval
    PushTelemetry     kept as it came, one a client, until the next; /metrics unpacks it

There only where somebody looks at it (kafkapy/http): else the APIs are not advertised, as with
Apache Kafka without a reporter that takes them. A client may ask or push once an interval, and
is refused in between; what it is asked for has an id, and a push under another is refused, so
that a change of subscriptions reaches clients with their next push.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from uuid import UUID
from zlib import crc32

from kafkapy.broker.config.client_metrics import parse_match
from kafkapy.broker.config.resources import Resource
from kafkapy.broker.requests.request import Peer
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.time import Instant
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.protocol.compression.codecs import Codec

# As Kafka: everything, and nothing.
ALL: Final = "*"
DEFAULT_INTERVAL_MS: Final = 300_000
ACCEPTED: Final = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
NOBODY: Final = UUID(int=0)
# Kafka keeps two reserved ids, 0 and 1.
RESERVED: Final = (NOBODY, UUID(int=1))
# Of clients; who has not pushed for longest is forgotten first.
MOST_CLIENTS: Final = 1000


class Subscription(NamedTuple):
    """What one client is asked for. `metrics` are prefixes, or ALL alone."""

    metrics: tuple[str, ...]
    interval_ms: int

    @property
    def id(self) -> int:
        """The same for the same: a push says under which it was made."""
        told = "\0".join((*self.metrics, str(self.interval_ms)))
        return crc32(told.encode()) - 2**31


class Pushed(NamedTuple):
    """The last push of a client."""

    client_id: str
    software: str
    codec: Codec
    data: bytes
    at: Instant


class _Client:
    __slots__ = ("asked_at", "is_over", "pushed", "pushed_at", "subscription")

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.asked_at: Instant | None = None
        self.pushed_at: Instant | None = None
        self.is_over = False
        self.pushed: Pushed | None = None


class Telemetry:
    """Of one broker: a client speaks to the same one as long as that lives."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._clients: OrderedDict[UUID, _Client] = OrderedDict()

    def pushed(self) -> list[tuple[UUID, Pushed]]:
        """At once: another thread may ask."""
        clients = list(self._clients.items())
        return [(key, one.pushed) for key, one in clients if one.pushed is not None]

    def subscribe(
        self, instance: UUID, client_id: str, peer: Peer, image: MetadataImage, now: Instant
    ) -> Subscription:
        """Refused if it asks again before its time."""
        wanted = matching(image, instance, client_id, peer)
        known = self._clients.get(instance)
        if known is not None and known.asked_at is not None and known.subscription == wanted:
            last = max(known.asked_at, known.pushed_at or known.asked_at)
            if now - last < wanted.interval_ms:
                raise Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        client = self._client(instance, wanted)
        client.subscription, client.asked_at, client.is_over = wanted, now, False
        return wanted

    def push(
        self,
        instance: UUID,
        subscription_id: int,
        client_id: str,
        peer: Peer,
        image: MetadataImage,
        now: Instant,
        *,
        codec: int,
        data: bytes,
        is_last: bool,
    ) -> None:
        """Refused for what is not taken."""
        client = self._client(instance, matching(image, instance, client_id, peer))
        if client.is_over:
            raise Refused(ErrorCode.INVALID_REQUEST)
        wanted = matching(image, instance, client_id, peer)
        if subscription_id != wanted.id:
            client.asked_at = None  # it may ask anew at once
            raise Refused(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
        before = client.pushed_at
        if before is not None and now - before < wanted.interval_ms and not is_last:
            raise Refused(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        if codec not in (Codec.NONE, *ACCEPTED):
            raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        if len(data) > self.max_bytes:
            raise Refused(ErrorCode.TELEMETRY_TOO_LARGE)
        client.pushed_at, client.is_over = now, is_last
        software = f"{peer.software_name}-{peer.software_version}"
        client.pushed = Pushed(client_id, software, Codec(codec), data, now)
        if is_last:
            client.pushed = None  # it is gone, and its metrics with it

    def _client(self, instance: UUID, subscription: Subscription) -> _Client:
        client = self._clients.pop(instance, None)
        if client is None:
            client = _Client(subscription)
        self._clients[instance] = client
        if len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return client


def matching(image: MetadataImage, instance: UUID, client_id: str, peer: Peer) -> Subscription:
    """All that is asked of a client, as one."""
    attributes = {
        "client_instance_id": str(instance),
        "client_id": client_id,
        "client_software_name": peer.software_name,
        "client_software_version": peer.software_version,
        "client_source_address": peer.host,
    }
    metrics: set[str] = set()
    interval_ms = DEFAULT_INTERVAL_MS
    for config in _subscriptions(image):
        patterns = parse_match(config.get("match", ""))
        if all(one.fullmatch(attributes.get(name, "")) for name, one in patterns.items()):
            metrics |= {one.strip() for one in config.get("metrics", "").split(",") if one.strip()}
            own_ms = int(config.get("interval.ms", DEFAULT_INTERVAL_MS))
            interval_ms = min(interval_ms, own_ms)
    if ALL in metrics:
        return Subscription((ALL,), interval_ms)
    return Subscription(tuple(sorted(metrics)), interval_ms)


def _subscriptions(image: MetadataImage) -> Iterator[Mapping[str, str]]:
    for (kind, _), config in image.all_configs.items():
        if kind == Resource.CLIENT_METRICS:
            yield config
