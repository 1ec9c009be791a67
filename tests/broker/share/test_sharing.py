"""ShareFetch and ShareAcknowledge on a node of a simulated cluster: sessions, locks, waiting."""

from typing import Any, NamedTuple
from uuid import UUID

import pytest

from kafkapy.broker.share.acknowledging import read
from kafkapy.broker.share.sessions import SessionKey
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.sim.cluster.clients.direct import Client
from tests.broker.share.member import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    TOPIC_RESOURCE,
    Member,
    configure,
    configure_group,
    finalize,
)
from tests.sim.cluster.kit import Kit


class Acknowledged(NamedTuple):
    """A row of a request."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


@pytest.fixture(scope="module")
def kit() -> Kit:
    """Shared: each test has a topic and a group of its own."""
    return Kit(31)


def member(kit: Kit, name: str, records: int = 0, **settings: str) -> Member:
    """Of a group called `name`, on a topic called so, with as many records."""
    kit.create(name)
    configure_group(kit, name, **settings)
    joined = Member(kit, f"{name}-a", group=name, topics=(name,)).join()
    for number in range(records):
        joined.produce(b"%d" % number)
    return joined


def another(of: Member) -> Member:
    """On a connection of its own."""
    joined = Member(of.kit, f"{of.group}-b", of.group, of.topics)
    joined.client = Client(of.kit.world, joined.name)
    return joined.join()


def offsets(of: Member, **asked: Any) -> list[int]:
    return [one.offset for one in of.fetch(**asked)]


def test_what_one_has_the_other_does_not_get(kit: Kit) -> None:
    one = member(kit, "apart", records=4)
    other = another(one)
    assert offsets(one, max_records=2) == [0, 1]
    assert offsets(other) == [2, 3]
    assert offsets(one) == []
    assert one.acknowledge(2, 3, ACCEPT) is ErrorCode.INVALID_RECORD_STATE
    assert other.acknowledge(2, 3, RELEASE) is ErrorCode.NONE
    assert offsets(one) == [2, 3]


def test_a_session_that_ends_gives_back_what_it_had(kit: Kit) -> None:
    one = member(kit, "closes", records=2)
    other = another(one)
    assert offsets(one) == [0, 1]
    one.session_epoch = -1
    assert one.fetch() == []
    # Once it is written, perhaps on another node.
    came = other.fetch(max_wait=2_000)
    assert [(got.offset, got.delivery_count) for got in came] == [(0, 2), (1, 2)]


def test_a_connection_that_ends_gives_back_what_it_had(kit: Kit) -> None:
    one = member(kit, "breaks", records=2)
    other = another(one)
    assert offsets(other) == [0, 1]
    kit.world.network.break_connections(other.name, f"n{other.leader()}")
    kit.world.run(10)
    assert offsets(one) == [0, 1]


def test_a_session_begun_anew_gives_back_what_the_first_one_had(kit: Kit) -> None:
    one = member(kit, "again", records=2)
    assert offsets(one) == [0, 1]
    one.session_epoch = 0
    again = one.fetch(max_wait=2_000)
    assert [(got.offset, got.delivery_count) for got in again] == [(0, 2), (1, 2)]


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(5, ErrorCode.INVALID_SHARE_SESSION_EPOCH), (1, ErrorCode.NONE)],
)
def test_epochs_of_a_session_follow_one_another(kit: Kit, epoch: int, code: ErrorCode) -> None:
    one = member(kit, f"epochs-{epoch}", records=1)
    one.fetch()
    one.session_epoch = epoch
    assert one.try_fetch().error_code == code


def test_a_session_that_nobody_opened_is_not_found(kit: Kit) -> None:
    one = member(kit, "unopened")
    one.session_epoch = 3
    assert one.try_fetch().error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert one.try_acknowledge(0, 0, ACCEPT).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    one.session_epoch = 0
    refused = one.try_acknowledge(0, 0, ACCEPT)
    assert refused.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_a_fetch_waits_until_something_is_appended(kit: Kit) -> None:
    one = member(kit, "appended")
    answers = one.fetch_later(max_wait=20_000)
    kit.world.run(1_000)
    assert answers == []
    one.produce(b"late")
    kit.wait(lambda: bool(answers), 1_000)
    assert [got.value for got in answers[0]] == [b"late"]


def test_a_fetch_waits_until_something_is_given_back(kit: Kit) -> None:
    one = member(kit, "given-back", records=1)
    other = another(one)
    assert offsets(one) == [0]
    answers = other.fetch_later(max_wait=20_000)
    kit.world.run(1_000)
    assert answers == []
    one.acknowledge(0, 0, RELEASE)
    kit.wait(lambda: bool(answers), 1_000)
    assert [got.offset for got in answers[0]] == [0]


def test_a_fetch_gets_what_another_ones_lock_let_go(kit: Kit) -> None:
    one = member(kit, "let-go", records=1, share_record_lock_duration_ms="15000")
    other = another(one)
    assert offsets(one) == [0]
    kit.world.run(5_000)
    answers = other.fetch_later(max_wait=20_000)
    kit.world.run(9_000)
    assert answers == []
    kit.wait(lambda: bool(answers), 2_000)
    assert [(got.offset, got.delivery_count) for got in answers[0]] == [(0, 2)]


def test_a_fetch_that_waits_in_vain_is_answered_when_its_time_is_up(kit: Kit) -> None:
    one = member(kit, "in-vain")
    answers = one.fetch_later(max_wait=2_000)
    kit.wait(lambda: bool(answers), 2_500)
    assert answers == [[]]


def test_a_mode_of_acquiring_that_is_none_is_refused(kit: Kit) -> None:
    one = member(kit, "modeless", records=1)
    assert one.try_fetch(mode=7).error_code == ErrorCode.INVALID_REQUEST
    assert offsets(one) == [0]


def test_a_renewed_lock_begins_anew(kit: Kit) -> None:
    one = member(kit, "renewed", records=1, share_record_lock_duration_ms="15000")
    other = another(one)
    one.fetch()
    kit.world.run(10_000)
    assert one.acknowledge(0, 0, RENEW) is ErrorCode.NONE
    kit.world.run(10_000)
    assert offsets(other) == []
    kit.world.run(6_000)
    assert offsets(other) == [0]
    assert one.acknowledge(0, 0, ACCEPT) is ErrorCode.INVALID_RECORD_STATE


def test_a_group_may_forbid_renewing(kit: Kit) -> None:
    one = member(kit, "forbidden", records=1, share_renew_acknowledge_enable="false")
    one.fetch()
    assert one.acknowledge(0, 0, RENEW) is ErrorCode.INVALID_RECORD_STATE


def test_acknowledgements_must_be_in_order_and_say_something_of_each(kit: Kit) -> None:
    one = member(kit, "orderly", records=3)
    one.fetch()
    invalid = ErrorCode.INVALID_REQUEST
    assert one.acknowledge(2, 1, ACCEPT) is invalid
    assert one.acknowledge(0, 2, ACCEPT, REJECT) is invalid
    assert one.acknowledge(0, 0, 9) is invalid
    assert one.acknowledge(0, 9, ACCEPT) is invalid
    assert one.acknowledge(0, 2, ACCEPT) is ErrorCode.NONE


def test_a_record_is_acknowledged_once_in_a_request(kit: Kit) -> None:
    """The batches are in order, so it is what is said of it that is wrong; all of it is refused."""
    one = member(kit, "twice", records=3)
    one.fetch()
    row = Acknowledged(0, 1, [ACCEPT])
    with pytest.raises(Refused) as raised:
        read([row, row._replace(first_offset=1, last_offset=2)], may_renew=False)
    assert raised.value.code is ErrorCode.INVALID_RECORD_STATE
    with pytest.raises(Refused) as raised:
        read([row, row], may_renew=False)
    assert raised.value.code is ErrorCode.INVALID_REQUEST
    assert one.acknowledge(0, 2, ACCEPT) is ErrorCode.NONE


def test_of_no_topic_nothing_is_acknowledged_and_it_is_said(kit: Kit) -> None:
    one = member(kit, "nobodys", records=1)
    one.fetch()
    rows = [{"first_offset": 0, "last_offset": 0, "acknowledge_types": [ACCEPT]}]
    places = [{"partition_index": 0, "acknowledgement_batches": rows}]
    body = {
        "group_id": "nobodys",
        "member_id": one.name,
        "share_session_epoch": one.session_epoch,
        "is_renew_ack": False,
        "topics": [{"topic_id": None, "partitions": places}],
    }
    answer = one.client.ask(one.leader(), ApiKey.SHARE_ACKNOWLEDGE, body)
    (row,) = answer.responses[0].partitions
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_who_has_no_room_for_a_byte_takes_nothing(kit: Kit) -> None:
    one = member(kit, "tiny", records=1)
    assert one.fetch(max_bytes=0) == []
    assert offsets(one) == [0]


def test_a_session_keeps_nothing_of_what_it_only_named(kit: Kit) -> None:
    one = member(kit, "names", records=1)
    one.fetch()
    host = kit.leader_or_none("names")
    assert host is not None
    assert host.node is not None
    assert host.node.broker is not None
    session = host.node.broker.shares.sessions.last(SessionKey("names", one.name))
    topic = [{"topic_id": UUID(int=at), "partitions": [{"partition_index": 0}]} for at in (1, 2)]
    gone = [{"topic_id": UUID(int=at), "partitions": [0]} for at in (1, 2)]
    _, body = one._question(500, 0, 0, 1 << 20)
    one.client.ask(one.leader(), ApiKey.SHARE_FETCH, {**body, "topics": topic})
    later = {"share_session_epoch": session.epoch, "forgotten_topics_data": gone}
    one.client.ask(one.leader(), ApiKey.SHARE_FETCH, {**body, **later})
    assert len(session.places) == len(session.known) == 1


def test_no_more_are_locked_than_may_be(kit: Kit) -> None:
    one = member(kit, "bounded", records=130, share_partition_max_record_locks="100")
    assert offsets(one, max_records=500) == list(range(100))
    assert offsets(one, max_records=500) == []
    one.acknowledge(0, 49, ACCEPT)
    assert offsets(one, max_records=500) == list(range(100, 130))


def test_a_group_without_share_version_is_refused(kit: Kit) -> None:
    made = Kit(32)
    configure_group(made)
    one = Member(made, "a").join()
    finalize(made, "share.version", 0)
    assert one.try_fetch().error_code == ErrorCode.UNSUPPORTED_VERSION


def test_retention_takes_what_nobody_has_had(kit: Kit) -> None:
    one = member(kit, "retained", records=6)
    assert offsets(one, max_records=2) == [0, 1]
    partition = {"partition_index": 0, "offset": 4}
    body = {"topics": [{"name": "retained", "partitions": [partition]}], "timeout": 5_000}
    answer = kit.client.ask(one.leader(), ApiKey.DELETE_RECORDS, body)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert offsets(one) == [4, 5]
    assert one.acknowledge(0, 5, ACCEPT) is ErrorCode.NONE


def test_another_leader_goes_on_where_the_last_one_was(kit: Kit) -> None:
    made = Kit(33)
    configure_group(made)
    for number in range(4):
        made.produce_until_acknowledged(b"%d" % number)
    one = Member(made, "a").join()
    assert offsets(one) == [0, 1, 2, 3]
    assert one.acknowledge(0, 1, ACCEPT) is ErrorCode.NONE
    dead = made.leader()
    dead.kill()
    made.wait(lambda: made.leader_or_none() not in (None, dead))
    dead.start()
    found: list[int] = []
    for _ in range(100):
        found = offsets(one)
        if found:
            break
        made.world.run(200)
    assert found == [2, 3], "the lock was with the leader; what was accepted is over"


def test_a_group_that_begins_at_the_end_begins_there_with_the_next_leader_too(kit: Kit) -> None:
    """What came since its first fetch was not acknowledged by anybody when the leader went."""
    made = Kit(34)
    configure_group(made, share_auto_offset_reset="latest")
    made.produce_until_acknowledged(b"before")
    one = Member(made, "a").join()
    assert one.fetch() == []
    made.produce_until_acknowledged(b"since")
    assert [got.value for got in one.fetch()] == [b"since"]
    dead = made.leader()
    dead.kill()
    made.wait(lambda: made.leader_or_none() not in (None, dead))
    dead.start()
    found: list[bytes | None] = []
    for _ in range(100):
        found = [got.value for got in one.fetch()]
        if found:
            break
        made.world.run(200)
    assert found == [b"since"]


def test_a_group_that_begins_at_the_end_gets_what_came_while_nobody_was_there(kit: Kit) -> None:
    one = member(kit, "away", records=2, share_auto_offset_reset="latest")
    assert one.fetch() == []
    one.session_epoch = -1
    one.fetch()
    one.produce(b"meanwhile")
    one.session_epoch = 0
    assert [got.value for got in one.fetch(max_wait=2_000)] == [b"meanwhile"]


def test_a_session_that_is_over_takes_nothing_when_its_fetch_has_waited_long_enough(
    kit: Kit,
) -> None:
    one = member(kit, "replaced")
    one.fetch()
    another(one).fetch()
    answers = one.fetch_later(max_wait=3_000, min_bytes=1_000_000)
    kit.world.run(1_000)
    again = Member(kit, one.name, one.group, one.topics)
    again.client = Client(kit.world, f"{one.name}-again")
    again.epoch = one.epoch
    again.produce(b"0")
    later = again.fetch_later(max_wait=4_000, min_bytes=1_000_000)
    kit.wait(lambda: bool(answers), 5_000)
    assert answers == [[]]
    kit.wait(lambda: bool(later), 5_000)
    assert [(got.offset, got.delivery_count) for got in later[0]] == [(0, 1)]


def test_settings_of_a_topic_that_is_made_anew_begin_anew(kit: Kit) -> None:
    """With a topic the group's state of it goes; one of the same name begins at its beginning."""
    one = member(kit, "anew", records=2)
    assert offsets(one) == [0, 1]
    one.acknowledge(0, 1, ACCEPT)
    body = {"topics": [{"name": "anew", "topic_id": None}], "timeout": 5_000}
    gone = kit.client.ask(one.leader(), ApiKey.DELETE_TOPICS, body)
    assert gone.responses[0].error_code == ErrorCode.NONE
    kit.wait(lambda: kit.leader_or_none("anew") is None)
    kit.create("anew")
    configure(kit, TOPIC_RESOURCE, "anew", {"retention.ms": "-1"})
    one.produce(b"new")
    late = another(one)
    found: list[bytes | None] = []
    for _ in range(60):
        late.beat()
        found = [got.value for got in late.try_got()]
        if found:
            break
        kit.world.run(500)
    assert found == [b"new"]
