"""The five APIs of the share coordinator, on both sides: events <-> requests <-> answers.

    asked here      events of one group --body_of--> request --> replies_in(response)
    asked of us     events_in(request) --> shards --> response_of(replies)

Each is a group id and, by topic, partitions with some fields of their own; each partition is
answered by itself. What differs between them is the table.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_messages import message_of
from kafkapy.share.coordinator.events import (
    UNKNOWN_COUNT,
    DeleteState,
    Done,
    InitializeState,
    KeyedEvent,
    ReadState,
    ReadSummary,
    StateRead,
    SummaryRead,
    WriteState,
)
from kafkapy.share.coordinator.state import ShareKey
from kafkapy.share.states import RecordState, StateBatch, state_of

Fields = Mapping[str, Any]


class StateApi(NamedTuple):
    key: ApiKey
    # What this node asks others in.
    version: int
    # Of a partition in a request, beside its number.
    fields: Callable[[Any], Fields]
    event: Callable[[ShareKey, Any], KeyedEvent]
    reply: Callable[[Any], Any]
    # Of a partition in a response, beside its number and error; for a refused one, too.
    told: Callable[[Any], Fields]


def _batches(batches: Iterable[StateBatch]) -> list[Fields]:
    return [
        {
            "first_offset": one.first_offset,
            "last_offset": one.last_offset,
            "delivery_state": one.state,
            "delivery_count": one.delivery_count,
        }
        for one in batches
    ]


def _batches_told(listed: Iterable[Any]) -> tuple[StateBatch, ...]:
    """By another coordinator, which may know more states."""
    return tuple(
        StateBatch(
            one.first_offset, one.last_offset, state_of(one.delivery_state), one.delivery_count
        )
        for one in listed
    )


def _state_batches(listed: Iterable[Any]) -> tuple[StateBatch, ...]:
    try:
        return tuple(
            StateBatch(
                one.first_offset,
                one.last_offset,
                RecordState(one.delivery_state),
                one.delivery_count,
            )
            for one in listed
        )
    except ValueError:
        raise Refused(ErrorCode.INVALID_REQUEST, "Unknown delivery state.") from None


def _nothing(_: Any) -> Fields:
    return {}


def _done(_: Any) -> Done:
    return Done()


def _read_told(reply: StateRead | None) -> Fields:
    if reply is None:
        return {"state_epoch": 0, "start_offset": 0, "state_batches": ()}
    return {
        "state_epoch": reply.state_epoch,
        "start_offset": reply.start_offset,
        "state_batches": _batches(reply.batches),
    }


def _summary_told(reply: SummaryRead | None) -> Fields:
    if reply is None:
        reply = SummaryRead(0, 0, 0, UNKNOWN_COUNT)
    return reply._asdict()


def _write_fields(event: WriteState) -> Fields:
    return {
        "state_epoch": event.state_epoch,
        "leader_epoch": event.leader_epoch,
        "start_offset": event.start_offset,
        "delivery_complete_count": event.delivery_complete_count,
        "state_batches": _batches(event.batches),
    }


def _write_event(key: ShareKey, row: Any) -> WriteState:
    return WriteState(
        key,
        row.state_epoch,
        row.leader_epoch,
        row.start_offset,
        _state_batches(row.state_batches),
        getattr(row, "delivery_complete_count", UNKNOWN_COUNT),
    )


STATE_APIS: Final[Mapping[type[Any], StateApi]] = {
    InitializeState: StateApi(
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        0,
        lambda event: {"state_epoch": event.state_epoch, "start_offset": event.start_offset},
        lambda key, row: InitializeState(key, row.state_epoch, row.start_offset),
        _done,
        _nothing,
    ),
    ReadState: StateApi(
        ApiKey.READ_SHARE_GROUP_STATE,
        0,
        lambda event: {"leader_epoch": event.leader_epoch},
        lambda key, row: ReadState(key, row.leader_epoch),
        lambda row: StateRead(row.state_epoch, row.start_offset, _batches_told(row.state_batches)),
        _read_told,
    ),
    WriteState: StateApi(
        ApiKey.WRITE_SHARE_GROUP_STATE, 1, _write_fields, _write_event, _done, _nothing
    ),
    DeleteState: StateApi(
        ApiKey.DELETE_SHARE_GROUP_STATE,
        0,
        _nothing,
        lambda key, row: DeleteState(key),
        _done,
        _nothing,
    ),
    ReadSummary: StateApi(
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        1,
        lambda event: {"leader_epoch": event.leader_epoch},
        lambda key, row: ReadSummary(key, row.leader_epoch),
        lambda row: SummaryRead(
            row.state_epoch, row.leader_epoch, row.start_offset, row.delivery_complete_count
        ),
        _summary_told,
    ),
}
_BY_KEY: Final = {int(api.key): api for api in STATE_APIS.values()}


# Asking others


def body_of(events: Sequence[KeyedEvent]) -> Fields:
    """Of one type and one group."""
    api = STATE_APIS[type(events[0])]
    topics: dict[UUID, list[Fields]] = {}
    for event in events:
        row = {"partition": event.key.partition, **api.fields(event)}
        topics.setdefault(event.key.topic_id, []).append(row)
    return {
        "group_id": events[0].key.group_id,
        "topics": [{"topic_id": topic_id, "partitions": rows} for topic_id, rows in topics.items()],
    }


def replies_in(response: Any, events: Sequence[KeyedEvent]) -> list[Any]:
    """In the order of the events: a reply or Refused each. Several events may be of one
    partition; whoever answers them with fewer rows has accepted all of them or none."""
    api = STATE_APIS[type(events[0])]
    found: dict[tuple[UUID | None, int], list[Any]] = {}
    for topic in response.results:
        for row in topic.partitions:
            code = ErrorCode(int(row.error_code))
            reply = Refused(code, row.error_message) if code else api.reply(row)
            found.setdefault((topic.topic_id, row.partition), []).append(reply)
    asked = [(event.key.topic_id, event.key.partition) for event in events]
    for place, count in Counter(asked).items():
        replies = found.setdefault(place, [])
        if len(replies) < count:
            nothing = Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "not answered")
            refused = [one for one in replies if isinstance(one, Refused)]
            found[place] = [(refused or replies or [nothing])[-1]] * count
    in_order = {place: iter(replies) for place, replies in found.items()}
    return [next(in_order[place]) for place in asked]


# Asked of us


def events_in(api_key: int, body: Any) -> Iterator[tuple[UUID | None, int, KeyedEvent | Refused]]:
    api = _BY_KEY[api_key]
    for topic in body.topics:
        for row in topic.partitions:
            yield topic.topic_id, row.partition, _event(api, body.group_id, topic.topic_id, row)


def _event(api: StateApi, group_id: str, topic_id: UUID | None, row: Any) -> KeyedEvent | Refused:
    if topic_id is None:
        return Refused(ErrorCode.INVALID_REQUEST, "The topic id cannot be null.")
    if row.partition < 0:
        return Refused(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")
    try:
        return api.event(ShareKey(group_id, topic_id, row.partition), row)
    except Refused as refused:
        return refused


def response_of(
    api_key: int, asked: Sequence[tuple[UUID | None, int]], replies: Sequence[Any]
) -> Fields:
    api = _BY_KEY[api_key]
    results: dict[UUID | None, list[Fields]] = {}
    for (topic_id, partition), reply in zip(asked, replies, strict=True):
        is_refused = isinstance(reply, Refused)
        row = {
            "partition": partition,
            "error_code": reply.code if is_refused else ErrorCode.NONE,
            "error_message": message_of(reply) if is_refused else None,
            **api.told(None if is_refused else reply),
        }
        results.setdefault(topic_id, []).append(row)
    return {
        "results": [
            {"topic_id": topic_id, "partitions": rows} for topic_id, rows in results.items()
        ]
    }
