"""A client of the cluster in the name of one principal; pages have one per request.

    ask            this node, as if its principal had come by a socket
    ask_broker     any broker: this one as above, another under this node's name, after what is
                   asked for has been allowed here (permissions.py)
    ask_leader, ask_coordinator      whoever that is, again if it has changed
    ask_all        every broker that is there, for what each knows of itself

What only the controller decides is enveloped by this node as for any client. Fields are kio's
names, as in handlers. Errors inside answers are for who asks, but for those that pass by
themselves: those are asked again until the time is up.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

import trio

from kafkapy.broker.peers.broker_connections import BrokerConnections
from kafkapy.broker.quotas.charging import charge_elsewhere
from kafkapy.broker.requests.request import Peer
from kafkapy.core.errors import ErrorCode
from kafkapy.http.kafka import permissions
from kafkapy.http.kafka.errors import PASSING, KafkaError, about, check
from kafkapy.http.kafka.link import NodeLink
from kafkapy.kraft.acls import Operation, ResourceType
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.image.topics import PartitionState, TopicState
from kafkapy.kraft.views import partition_of, source_of
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request

T = TypeVar("T")
Body = Mapping[str, Any]
CLIENT_ID: Final = "kafkapy-http"
GROUP, TRANSACTION = 0, 1
_RETRY_SECONDS: Final = 0.05
# So many names are judged at once: the node's loop goes on in between.
_AT_ONCE: Final = 200
# The newest that Apache Kafka 4.0 serves too and that names topics: a peer may be older.
VERSIONS: Final[Mapping[ApiKey, int]] = {
    ApiKey.PRODUCE: 12,
    ApiKey.FETCH: 12,
    ApiKey.LIST_OFFSETS: 10,
    ApiKey.METADATA: 12,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.OFFSET_FETCH: 9,
    ApiKey.FIND_COORDINATOR: 5,
    ApiKey.JOIN_GROUP: 9,
    ApiKey.HEARTBEAT: 4,
    ApiKey.LEAVE_GROUP: 5,
    ApiKey.SYNC_GROUP: 5,
    ApiKey.DESCRIBE_GROUPS: 6,
    ApiKey.LIST_GROUPS: 5,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.DELETE_TOPICS: 6,
    ApiKey.DELETE_RECORDS: 2,
    ApiKey.INIT_PRODUCER_ID: 5,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 4,
    ApiKey.DESCRIBE_ACLS: 3,
    ApiKey.CREATE_ACLS: 3,
    ApiKey.DELETE_ACLS: 3,
    ApiKey.DESCRIBE_CONFIGS: 4,
    ApiKey.ALTER_CONFIGS: 2,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.DESCRIBE_LOG_DIRS: 4,
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.DELETE_GROUPS: 2,
    ApiKey.ELECT_LEADERS: 2,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: 0,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: 1,
    ApiKey.ALTER_CLIENT_QUOTAS: 1,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.DESCRIBE_QUORUM: 2,
    ApiKey.UPDATE_FEATURES: 2,
    ApiKey.DESCRIBE_CLUSTER: 1,
    ApiKey.DESCRIBE_PRODUCERS: 0,
    ApiKey.DESCRIBE_TRANSACTIONS: 0,
    ApiKey.LIST_TRANSACTIONS: 1,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 1,
    ApiKey.CONSUMER_GROUP_DESCRIBE: 1,
    ApiKey.SHARE_GROUP_DESCRIBE: 1,
    ApiKey.STREAMS_GROUP_DESCRIBE: 0,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: 1,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: 0,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: 0,
    ApiKey.LIST_CONFIG_RESOURCES: 0,
    ApiKey.WRITE_TXN_MARKERS: 1,
}


class Kafka:
    """`principal` at `host`. One that asks for what may take long (a fetch that waits) is used
    as a context manager: its questions to other brokers then hold up nobody else's."""

    def __init__(
        self,
        link: NodeLink,
        principal: str,
        host: str,
        *,
        client_id: str = CLIENT_ID,
        timeout_ms: int = 30_000,
    ) -> None:
        self.link = link
        self.principal = principal
        self.timeout_ms = timeout_ms
        self._client_id = client_id
        self._peer = Peer(_listener(link), host, principal=principal, software_name=CLIENT_ID)
        self._own: BrokerConnections | None = None

    async def __aenter__(self) -> "Kafka":
        self._own = self.link.connections()
        return self

    async def __aexit__(self, *_: object) -> None:
        own, self._own = self._own, None
        if own is not None:
            # A node that stops has closed them with all others.
            with trio.CancelScope(shield=True), suppress(KafkaError):
                await self.link.call(own.close)

    @property
    def is_apart(self) -> bool:
        """It is used as a context manager."""
        return self._own is not None

    def another(self) -> "Kafka":
        """Of the same principal, to be used as a context manager."""
        return Kafka(
            self.link,
            self.principal,
            self._peer.host,
            client_id=self._client_id,
            timeout_ms=self.timeout_ms,
        )

    @property
    def image(self) -> MetadataImage:
        """The whole metadata, whoever asks: what of it may be shown is `allowed`."""
        return self.link.image

    @property
    def node_id(self) -> int:
        return self.link.node.node_id

    # --- who is asked ---

    async def ask(self, api: ApiKey, body: Body, version: int | None = None) -> Any:
        """This node; the decoded response."""
        chosen = VERSIONS[api] if version is None else version
        head = request_head(api, chosen, 0, self._client_id)
        await self._until_heard()
        view = await self.link.request(frame(head, encode_request(api, chosen, body)), self._peer)
        self._note_throttled()
        _, body_at = read_response_head(api, chosen, view)
        return decode_response(api, chosen, view[body_at:])

    async def ask_broker(
        self, broker_id: int, api: ApiKey, body: Body, version: int | None = None
    ) -> Any:
        if broker_id == self.node_id:
            return await self.ask(api, body, version)
        chosen = VERSIONS[api] if version is None else version
        await self.link.call(lambda: permissions.require(self.link.node, self._peer, api, body))
        packed = encode_request(api, chosen, body)
        await self._until_heard()
        view = await self.link.request_to(
            broker_id, api, chosen, packed, self.timeout_ms, self._own
        )
        await self._charge_elsewhere(api, len(packed), len(view))
        return decode_response(api, chosen, view)

    # --- quotas ---

    async def _until_heard(self) -> None:
        wait_ms = self._peer.muted_until - self.link.node.clock.now()
        if wait_ms > 0:
            await trio.sleep(wait_ms / 1000)

    def _note_throttled(self) -> None:
        peer = self._peer
        if peer.muted_until > 0:
            now = self.link.node.clock.now()
            self.link.throttled.note(peer.principal, peer.host, peer.muted_until, now)

    async def _charge_elsewhere(self, api: ApiKey, asked: int, answered: int) -> None:
        """The broker that was asked knows this node, not who asks it."""
        node = self.link.node
        if node.quotas is not None and api in (ApiKey.PRODUCE, ApiKey.FETCH):
            charge = partial(charge_elsewhere, node, self._peer, self._client_id)
            await self.link.call(partial(charge, api, asked, answered))
            self._note_throttled()

    async def ask_all(self, api: ApiKey, body: Body) -> dict[int, Any]:
        """Broker -> its answer, or the KafkaError that came in its place."""
        answers: dict[int, Any] = {}

        async def one(broker_id: int) -> None:
            try:
                answers[broker_id] = await self.ask_broker(broker_id, api, body)
            except KafkaError as failed:
                answers[broker_id] = failed

        async with trio.open_nursery() as nursery:
            for broker_id in self.brokers():
                nursery.start_soon(one, broker_id)
        return dict(sorted(answers.items()))

    async def ask_leader(
        self,
        topic: str,
        partition: int,
        api: ApiKey,
        body: Body,
        code_of: Callable[[Any], int],
    ) -> Any:
        """`code_of(answer)`: while that may pass, whoever leads then is asked again."""

        async def once() -> Any:
            leader = await self.leader(topic, partition, api, body)
            answer = await self.ask_broker(leader, api, body)
            code = self.news(topic, partition, code_of(answer))
            check(code, about(code, topic, partition))
            return answer

        return await self.until_it_passes(once)

    async def leader(self, topic: str, partition: int, api: ApiKey, body: Body) -> int:
        """Who is to be asked that. As brokers do, it is judged before it is looked: who may not
        hears the same of a topic that is not there."""
        found = partition_of(self.image, topic, partition)
        if found is not None and found.has_leader:
            return found.leader
        await self.link.call(lambda: permissions.require(self.link.node, self._peer, api, body))
        code = ErrorCode.LEADER_NOT_AVAILABLE
        if found is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        raise KafkaError(code, f"{topic}-{partition}")

    async def ask_coordinator(
        self, name: str, api: ApiKey, body: Body, code_of: Callable[[Any], int], kind: int = GROUP
    ) -> Any:
        """Of a group, or of a transactional id (`TRANSACTION`)."""

        async def once() -> Any:
            answer = await self.ask_broker(await self.coordinator(name, kind), api, body)
            code = code_of(answer)
            if code in PASSING:
                raise KafkaError(code, name)
            return answer

        return await self.until_it_passes(once)

    async def until_it_passes(self, once: Callable[[], Any]) -> Any:
        """`await once()` again while it raises what may be different in a moment."""
        deadline = trio.current_time() + self.timeout_ms / 1000
        while True:
            try:
                return await once()
            except KafkaError as failed:
                if failed.code not in PASSING or trio.current_time() >= deadline:
                    raise
                if not self.link.is_serving:
                    raise
            await trio.sleep(_RETRY_SECONDS)

    # --- what is known here ---

    def brokers(self) -> list[int]:
        """Those that are registered and not fenced."""
        return sorted(one for one, known in list(self.image.brokers.items()) if not known.fenced)

    def topic(self, name: str) -> TopicState:
        """KafkaError if there is none. A view has the partitions of its source, as for clients."""
        found = self.image.topics_by_name.get(name)
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
        source = source_of(self.image, found)
        if source is None:
            return found
        view = TopicState(found.name, found.id)
        view.partitions = source.partitions
        return view

    def is_view(self, name: str) -> bool:
        found = self.image.topics_by_name.get(name)
        return found is not None and source_of(self.image, found) is not None

    def partition(self, topic: str, partition: int) -> PartitionState:
        found = self.topic(topic).partitions.get(partition)
        if found is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{topic}-{partition}")
        return found

    def news(self, topic: str, partition: int, code: int) -> int:
        """`code`, but for what its leader does not know and this node does: it will hear of it."""
        if code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return code
        is_there = partition_of(self.image, topic, partition) is not None
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if is_there else code

    async def coordinator(self, name: str, kind: int = GROUP) -> int:
        body = {"key_type": kind, "coordinator_keys": [name]}
        row = (await self.ask(ApiKey.FIND_COORDINATOR, body)).coordinators[0]
        check(row.error_code, name, row.error_message)
        return int(row.node_id)

    async def require(self, operation: Operation, resource_type: ResourceType, name: str) -> None:
        """KafkaError if the principal may not. Before anything is told of what `name` is."""
        if self.link.node.authorizer is not None:
            needed = ((operation, resource_type, name),)
            await self.link.call(
                lambda: permissions.require_each(self.link.node, self._peer, needed)
            )

    async def allowed(
        self, operation: Operation, resource_type: ResourceType, names: "list[str]"
    ) -> set[str]:
        """Those of `names` that the principal may do that to."""
        if self.link.node.authorizer is None:
            return set(names)
        found: set[str] = set()
        for at in range(0, len(names), _AT_ONCE):
            ask = partial(
                permissions.allowed,
                self.link.node,
                self._peer,
                operation,
                resource_type,
                names[at : at + _AT_ONCE],
            )
            found |= await self.link.call(ask)
        return found


def _listener(link: NodeLink) -> str:
    """Whose addresses answers name: the first for clients."""
    listening = link.node.config.listening
    return (listening.broker or listening.all)[0].name
