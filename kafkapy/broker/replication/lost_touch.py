"""A follower whose log ends outside of its leader's finds out on which side.

leader's end < ours     it was elected without what we have (unclean): cut to its end
leader's start > ours   retention took what we lack: begin anew at its start
neither                 it has caught up with us meanwhile
"""

from collections.abc import Callable
from typing import Any, Protocol

from kafkapy.broker.partitions.partition import Partition
from kafkapy.broker.peers.connection import Answered, Body, Decode
from kafkapy.broker.peers.failures import CallFailed
from kafkapy.broker.replication.messages import (
    EARLIEST,
    LATEST,
    LIST_OFFSETS_VERSIONS,
    offset_fields,
    offset_from,
)
from kafkapy.core.errors import DiskFailed, ErrorCode
from kafkapy.protocol.api_keys import ApiKey


class AsksLeader(Protocol):
    """The way to the leader: a PeerConnection."""

    def call(
        self,
        api: ApiKey,
        body: Body,
        then: Answered,
        *,
        versions: tuple[int, int],
        timeout_ms: int,
        decode: Decode | None = None,
    ) -> None: ...


class Asks(Protocol):
    @property
    def node_id(self) -> int: ...

    @property
    def fetch_timeout_ms(self) -> int: ...

    def disk_failed(self, failed: DiskFailed) -> None: ...


class LostTouch:
    """`then` hears None once the follower may go on, or why it may not."""

    def __init__(
        self,
        partition: Partition,
        connection: AsksLeader,
        node: Asks,
        then: Callable[[str | None], None],
    ) -> None:
        self._partition = partition
        self._epoch = partition.leader_epoch
        self._connection = connection
        self._node = node
        self._then = then

    def begin(self) -> None:
        self._ask(LATEST)

    def _ask(self, timestamp: int) -> None:
        fields = offset_fields(
            self._node.node_id, self._partition.topic_partition, self._epoch, timestamp
        )
        self._connection.call(
            ApiKey.LIST_OFFSETS,
            fields,
            lambda answer: self._answered(timestamp, answer),
            versions=LIST_OFFSETS_VERSIONS,
            timeout_ms=self._node.fetch_timeout_ms,
        )

    def _answered(self, timestamp: int, answer: Any) -> None:
        if isinstance(answer, CallFailed):
            self._then(str(answer))
            return
        code, offset = offset_from(answer)
        partition = self._partition
        if code:
            self._then(ErrorCode(code).name)
        elif partition.leader_epoch != self._epoch:
            self._then(None)  # another leader: what this one has says nothing
        elif timestamp == LATEST and offset >= partition.log.log_end_offset:
            self._ask(EARLIEST)
        else:
            self._move(timestamp, offset)

    def _move(self, timestamp: int, offset: int) -> None:
        partition = self._partition
        try:
            if timestamp == LATEST:
                partition.truncate_to(offset)
            elif offset > partition.log.log_end_offset:
                partition.begin_at(offset)
        except DiskFailed as failed:
            self._node.disk_failed(failed)
            return
        self._then(None)
