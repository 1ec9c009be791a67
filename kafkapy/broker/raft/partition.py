"""What the requests of the metadata quorum have in common on the wire.

Each is made for many partitions and speaks of one, `__cluster_metadata-0`; whatever else it
names is refused as a whole.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from kafkapy.broker.requests.request import Fields
from kafkapy.core.errors import Corrupt, ErrorCode, Refused
from kafkapy.kraft.quorum.voters import VoterAddress

METADATA_TOPIC: Final = "__cluster_metadata"
NOBODY: Final = -1


def the_partition(topics: Sequence[Any], name_field: str, name: object = METADATA_TOPIC) -> Any:
    """The one partition a request speaks of. Refused if it speaks of another or of several."""
    if len(topics) == 1 and getattr(topics[0], name_field) == name:
        partitions = topics[0].partitions
        if len(partitions) == 1 and _index(partitions[0]) == 0:
            return partitions[0]
    raise Refused(ErrorCode.INVALID_REQUEST)


def the_answered(topics: Sequence[Any]) -> Any:
    """The one partition that an answer speaks of."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise Corrupt("an answer of the quorum that does not speak of its one partition")
    return topics[0].partitions[0]


def _index(partition: Any) -> int:
    index: int = getattr(partition, "partition_index", getattr(partition, "partition", -1))
    return index


def leader_of(partition: Any) -> int | None:
    """Who leads, as an answer says it."""
    return None if partition.leader_id == NOBODY else int(partition.leader_id)


def named(leader_id: int | None) -> int:
    return NOBODY if leader_id is None else leader_id


def endpoint_fields(endpoints: Iterable[VoterAddress]) -> list[dict[str, Any]]:
    """A leader's listeners in a request."""
    return [{"name": one.listener, "host": one.host, "port": one.port} for one in endpoints]


def endpoints_from(rows: Iterable[Any]) -> tuple[VoterAddress, ...]:
    return tuple(VoterAddress(row.name, row.host, int(row.port)) for row in rows)


class Answer(Protocol):
    """What every answer of the quorum tells of its epoch."""

    @property
    def error(self) -> ErrorCode: ...

    @property
    def epoch(self) -> int: ...

    @property
    def leader_id(self) -> int | None: ...

    @property
    def leader_endpoints(self) -> Sequence[VoterAddress]: ...


def epoch_fields(answer: Answer, listener: str, **more: object) -> Fields:
    """The answer to a vote, or to news of an epoch; `more` of the partition."""
    partition = {
        "partition_index": 0,
        "error_code": answer.error,
        "leader_id": named(answer.leader_id),
        "leader_epoch": answer.epoch,
        **more,
    }
    return {
        "error_code": ErrorCode.NONE,
        "topics": [{"topic_name": METADATA_TOPIC, "partitions": [partition]}],
        "node_endpoints": node_endpoint_fields(answer, listener),
    }


def node_endpoint_fields(answer: Answer, listener: str) -> list[Fields]:
    if answer.leader_id is None:
        return []
    at = leader_for(answer, listener)
    return [{"node_id": answer.leader_id, "host": one.host, "port": one.port} for one in at]


def leader_for(answer: Answer, listener: str) -> list[VoterAddress]:
    """Where the leader is for whoever asked on `listener`."""
    ends = answer.leader_endpoints
    return [one for one in ends if one.listener == listener] or list(ends)[:1]


def node_endpoints_from(
    answer: Any, leader_id: int | None, listener: str
) -> tuple[VoterAddress, ...]:
    """The leader's address in an answer; it is that of the listener we asked on."""
    return tuple(
        VoterAddress(listener, row.host, int(row.port))
        for row in getattr(answer, "node_endpoints", ())
        if row.node_id == leader_id
    )


def check_whole(answer: Any) -> None:
    """Refused if the request as a whole was."""
    if answer.error_code:
        raise Refused(ErrorCode(int(answer.error_code)))
