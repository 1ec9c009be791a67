"""Acknowledgements of a request, partition by partition; answered when all are written.

What is said of one partition is taken whole or not at all; another one's mistake does not
concern it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.requests.request import Call
from kafkapy.broker.share.request_checks import check_topic
from kafkapy.broker.share.sessions import Place, SessionKey
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.share.coordinator.state import ShareKey
from kafkapy.share.partition import Acknowledgement
from kafkapy.share.states import AcknowledgeType

if TYPE_CHECKING:
    from typing import Protocol

    from kafkapy.broker.requests.needs import HasAuthorizer, HasImage, HasPartitions, HasShares

    class Needs(HasAuthorizer, HasImage, HasPartitions, HasShares, Protocol): ...


Results = Mapping[Place, Refused | None]
_RENEW: Final = int(AcknowledgeType.RENEW)
_TWICE: Final = "The offset cannot be acknowledged. The offset is not acquired."


def listed(topics: Iterable[Any]) -> dict[Place, Sequence[Any]]:
    """What a request says of each partition, in its own order. (An id that is none is nobody's.)"""
    return {
        (topic.topic_id, one.partition_index): one.acknowledgement_batches
        for topic in topics
        if topic.topic_id is not None
        for one in topic.partitions
    }


def read(batches: Sequence[Any], *, may_renew: bool) -> list[Acknowledgement]:
    """Refused unless they are in order and each says something of all of its records; and each
    record is of one of them, though that is another refusal."""
    found: list[Acknowledgement] = []
    previous, is_twice = -1, False
    for batch in batches:
        first, last, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
        if last < first:
            raise _invalid()
        if first < previous:
            raise _invalid()
        if not types or (len(types) > 1 and len(types) != last - first + 1):
            raise _invalid()
        # A hundred thousand types are no rare thing to say: the loops are C's.
        if min(types) < 0 or max(types) > _RENEW:
            raise _invalid()
        if _RENEW in types and not may_renew:
            raise _invalid()
        is_twice = is_twice or (bool(found) and first == previous)
        previous = last
        found.append(Acknowledgement(first, last, tuple(types)))
    if is_twice:
        raise Refused(ErrorCode.INVALID_RECORD_STATE, _TWICE)
    return found


def acknowledge(
    node: "Needs",
    call: Call[Any],
    member: SessionKey,
    given: Mapping[Place, Sequence[Acknowledgement] | Refused],
    then: Callable[[Results], None],
) -> None:
    """`then` once all of it is written, or refused."""
    results: dict[Place, Refused | None] = {}

    def answered(place: Place, refused: Refused | None) -> None:
        results[place] = refused
        if len(results) == len(given):
            then(results)

    if not given:
        then(results)
    for place, what in given.items():
        if isinstance(what, Refused):
            answered(place, what)
        else:
            _acknowledge(node, call, member, place, what, partial(answered, place))


def _acknowledge(
    node: "Needs",
    call: Call[Any],
    member: SessionKey,
    place: Place,
    given: Sequence[Acknowledgement],
    then: Callable[[Refused | None], None],
) -> None:
    try:
        check_topic(node, call, place)
        node.partitions.hosted(None, *place).check_leader()
    except Refused as refused:
        then(refused)
        return
    share = node.shares.led.get(ShareKey(member.group_id, *place))
    if share is None:
        # Nobody has had anything since this node leads it.
        then(Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    else:
        share.acknowledge(member.member_id, given, then)


def _invalid() -> Refused:
    """Without a word, as Kafka does."""
    return Refused(ErrorCode.INVALID_REQUEST, "")
