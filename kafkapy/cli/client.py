"""A small blocking client for the command line: one broker, one request at a time.

The tools need the newest versions that both sides have, and a sentence when something is
refused; everything a real client does for throughput they can do without.
"""

import socket
import ssl
import struct
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkapy.cli.arguments import DEFAULT_SERVER
from kafkapy.cli.login import chosen
from kafkapy.cli.main import Failed
from kafkapy.core.addresses import shown
from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_messages import ERROR_MESSAGES
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request

# The newest version of each API that the tools use; a broker with less is asked for less.
_NEWEST: Final = {
    ApiKey.PRODUCE: 12,
    ApiKey.FETCH: 12,
    ApiKey.LIST_OFFSETS: 10,
    ApiKey.METADATA: 12,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.OFFSET_FETCH: 9,
    ApiKey.FIND_COORDINATOR: 5,
    ApiKey.DESCRIBE_GROUPS: 6,
    ApiKey.LIST_GROUPS: 5,
    ApiKey.SHARE_GROUP_DESCRIBE: 1,
    ApiKey.STREAMS_GROUP_DESCRIBE: 0,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: 1,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: 0,
    ApiKey.DELETE_GROUPS: 2,
    ApiKey.CONSUMER_GROUP_DESCRIBE: 1,
    ApiKey.INIT_PRODUCER_ID: 5,
    ApiKey.WRITE_TXN_MARKERS: 1,
    ApiKey.DESCRIBE_PRODUCERS: 0,
    ApiKey.DESCRIBE_TRANSACTIONS: 0,
    ApiKey.LIST_TRANSACTIONS: 2,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.DELETE_TOPICS: 6,
    ApiKey.DELETE_RECORDS: 2,
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.DESCRIBE_CONFIGS: 4,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.DESCRIBE_LOG_DIRS: 4,
    ApiKey.DESCRIBE_QUORUM: 2,
    ApiKey.DESCRIBE_CLUSTER: 2,
    ApiKey.ADD_RAFT_VOTER: 1,
    ApiKey.REMOVE_RAFT_VOTER: 0,
    ApiKey.DESCRIBE_ACLS: 3,
    ApiKey.CREATE_ACLS: 3,
    ApiKey.DELETE_ACLS: 3,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: 1,
    ApiKey.ALTER_CLIENT_QUOTAS: 1,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.CREATE_DELEGATION_TOKEN: 3,
    ApiKey.RENEW_DELEGATION_TOKEN: 2,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 2,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 3,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 1,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: 0,
    ApiKey.ELECT_LEADERS: 2,
    ApiKey.UNREGISTER_BROKER: 0,
    ApiKey.UPDATE_FEATURES: 2,
    ApiKey.API_VERSIONS: 4,
}
# A new leader says so for a moment, and who leads no more.
_SOON: Final = {ErrorCode.OFFSET_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER}
# A broker that has just become the coordinator of some of what it is asked about.
_LOADING: Final = {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE}
_ATTEMPTS: Final = 30
_PAUSE_SECONDS: Final = 0.1
_LAST_PORT: Final = 65535
_CLIENT_ID: Final = "kafkapy-cli"
_TIMEOUT_SECONDS: Final = 60.0
# Ten thousand partitions take a few megabytes, a fetch 16; a web server's "HTTP" reads as 1.2 GB.
_LARGEST_ANSWER: Final = 256 * 1024 * 1024


class NoAnswer(Failed):
    """One broker is not there, or cannot say now; others may."""


class Client:
    """Use as a context manager: `with Client("127.0.0.1:9092") as client`. Of several
    addresses, separated by commas, the first that answers is asked."""

    def __init__(self, addresses: str, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        self._socket, self._address = _connected(addresses, timeout_seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_id = 0
        self._leaders: dict[str, dict[int, str]] = {}  # topic -> partition -> address
        self._others: dict[str, Client] = {}
        try:
            chosen().log_in(self._ask)
            self._served = self._versions()
        except Failed:
            self._socket.close()
            raise

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._others.values():
            one.__exit__()
        self._socket.close()

    def _versions(self) -> dict[int, tuple[int, int]]:
        about = {"client_software_name": _CLIENT_ID, "client_software_version": "0"}
        answer = self._ask(ApiKey.API_VERSIONS, 3, about)
        return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}

    def ask(self, api: ApiKey, body: dict[str, Any]) -> Any:
        """The decoded answer; Failed if the broker does not serve the API."""
        return self._ask(api, self.version(api), body)

    def version(self, api: ApiKey) -> int:
        if api not in self._served:
            raise Failed(f"the broker at {self._address} does not serve {api.name}")
        lowest, highest = self._served[api]
        version: int = min(highest, _NEWEST[api])
        if version < lowest:
            raise Failed(f"the broker at {self._address} is too new for this tool ({api.name})")
        return version

    def _ask(self, api: ApiKey, version: int, body: dict[str, Any]) -> Any:
        self._correlation_id += 1
        head = request_head(api, version, self._correlation_id, _CLIENT_ID)
        try:
            self._socket.sendall(frame(head, encode_request(api, version, body)))
            (size,) = struct.unpack(">i", self._receive(4))
            if not 0 < size <= _LARGEST_ANSWER:
                raise self._stranger(f"an answer of {size} bytes")
            answer = memoryview(self._receive(size)).toreadonly()
        except OSError as failed:
            raise NoAnswer(f"lost the broker at {self._address}: {failed}") from failed
        try:
            correlation_id, body_at = read_response_head(api, version, answer)
            if correlation_id != self._correlation_id:
                raise Corrupt(f"answer {correlation_id} to request {self._correlation_id}")
            return decode_response(api, version, answer[body_at:])
        except Corrupt as bad:
            raise self._stranger(str(bad)) from None

    def _stranger(self, why: str) -> NoAnswer:
        return NoAnswer(f"what answers at {self._address} is no Kafka broker: {why}")

    def _receive(self, count: int) -> bytes:
        data = bytearray(count)
        at = 0
        while at < count:
            got = self._socket.recv_into(memoryview(data)[at:])
            if got == 0:
                raise NoAnswer(f"the broker at {self._address} closed the connection")
            at += got
        return bytes(data)

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """That which the broker has shown, as `ssl` tells it; None without TLS."""
        return self._socket.getpeercert() if isinstance(self._socket, ssl.SSLSocket) else None

    # --- questions that several tools ask ---

    def partitions(self, topic: str) -> list[int]:
        """The partitions of a topic that exists; Failed if it does not."""
        row = self.metadata([topic]).topics[0]
        check(row.error_code, f"topic {topic}")
        return sorted(one.partition_index for one in row.partitions)

    def metadata(self, topics: list[str] | None, *, create: bool = False) -> Any:
        asked = None if topics is None else [{"name": one, "topic_id": None} for one in topics]
        return self.ask(ApiKey.METADATA, {"topics": asked, "allow_auto_topic_creation": create})

    def leaders(self, topic: str, indexes: Iterable[int]) -> "list[tuple[Client, list[int]]]":
        """Clients of those that lead these partitions, each with what it leads. What nobody
        leads is asked of this broker, which says why."""
        if topic not in self._leaders:
            self._leaders[topic] = self._find_leaders(topic)
        found = self._leaders[topic]
        led: dict[str, list[int]] = {}
        for index in indexes:
            led.setdefault(found.get(index, self._address), []).append(index)
        return [(self._at(address), theirs) for address, theirs in led.items()]

    def forget_leaders(self, topic: str) -> None:
        """One of them said that it is none: they are asked for again."""
        self._leaders.pop(topic, None)

    def _find_leaders(self, topic: str) -> dict[int, str]:
        answer = self.metadata([topic])
        addresses = {one.node_id: address_of(one) for one in answer.brokers}
        return {
            int(one.partition_index): addresses[one.leader_id]
            for row in answer.topics
            for one in row.partitions
            if one.leader_id in addresses
        }

    def _at(self, address: str) -> "Client":
        if address == self._address:
            return self
        if address not in self._others:
            self._others[address] = Client(address)
        return self._others[address]

    def offsets(
        self, topic: str, timestamps: dict[int, int], *, committed: bool = False
    ) -> dict[int, int]:
        """Partition -> offset, for a timestamp (or -1 end, -2 start) of each; Failed if one
        of them has none to tell. `committed`: the end is before the first open transaction."""
        found, refused = self.known_offsets(topic, timestamps, committed=committed)
        check_all((code, f"{topic}-{index}", None) for index, code in refused.items())
        return found

    def known_offsets(
        self, topic: str, timestamps: dict[int, int], *, committed: bool = False
    ) -> tuple[dict[int, int], dict[int, int]]:
        """As `offsets`, and the error codes of the partitions that have none to tell: those
        whose log directory is offline, for one."""
        found: dict[int, int] = {}
        for _ in range(_ATTEMPTS):
            refused = self._ask_offsets(topic, timestamps, found, int(committed))
            if not _SOON.intersection(refused.values()):
                break
            self.forget_leaders(topic)
            time.sleep(_PAUSE_SECONDS)
        return found, refused

    def _ask_offsets(
        self, topic: str, timestamps: dict[int, int], found: dict[int, int], isolation: int
    ) -> dict[int, int]:
        """Of those that are not found yet; the error codes of those that still are not."""
        refused = {}
        for leader, indexes in self.leaders(topic, timestamps.keys() - found.keys()):
            rows = [{"partition_index": one, "timestamp": timestamps[one]} for one in indexes]
            answer = leader.ask(
                ApiKey.LIST_OFFSETS,
                {
                    "replica_id": -1,
                    "isolation_level": isolation,
                    "timeout": int(_TIMEOUT_SECONDS * 1000),
                    "topics": [{"name": topic, "partitions": rows}],
                },
            )
            for one in answer.topics[0].partitions:
                if one.error_code:
                    refused[one.partition_index] = one.error_code
                else:
                    found[one.partition_index] = one.offset
        return refused


def _connected(addresses: str, timeout_seconds: float) -> tuple[socket.socket, str]:
    """A connection to the first that takes one, and its address."""
    wanted = [(one.strip(), host_and_port(one.strip())) for one in addresses.split(",")]
    for address, where in wanted:
        try:
            plain = socket.create_connection(where, timeout=timeout_seconds)
            try:
                return chosen().wrap(plain, where[0]), address
            except OSError:
                plain.close()
                raise
        except (OSError, UnicodeError) as failed:
            why, cause = getattr(failed, "strerror", None) or failed, failed
    raise NoAnswer(
        f"cannot reach a broker at {addresses}: {why}; is it running, and is that its address?"
    ) from cause


def check(code: int, about: str, message: str | None = None) -> None:
    """Failed, in words, if `code` is an error; NoAnswer if it may not be one soon."""
    if code:
        raise (NoAnswer if code in _LOADING else Failed)(_told(code, about, message))


def check_all(answers: Iterable[tuple[int, str, str | None]]) -> None:
    """`check` of many things that were tried: Failed names each that was refused."""
    refused = [_told(*answer) for answer in answers if answer[0]]
    if refused:
        raise Failed("; ".join(refused))


def _told(code: int, about: str, message: str | None) -> str:
    error = ErrorCode(code)
    return f"{about}: {error.name}: {message or ERROR_MESSAGES[error]}"


def host_and_port(address: str) -> tuple[str, int]:
    """Of HOST:PORT, or [HOST]:PORT for IPv6."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > _LAST_PORT:
        raise Failed(f"{address}: expected HOST:PORT, for example {DEFAULT_SERVER}")
    return host, int(port)


def address_of(node: Any) -> str:
    """HOST:PORT of a broker or coordinator in an answer."""
    return shown(node.host, node.port)
