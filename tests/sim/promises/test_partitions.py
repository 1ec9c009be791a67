"""The judge: what it lets pass, and what it does not."""

from dataclasses import replace
from uuid import UUID

import pytest

from kafkapy.core.time import Instant
from kafkapy.sim.promises.partitions import (
    BrokenPromise,
    Contents,
    Death,
    PartitionPromises,
    ReadRecord,
    Sent,
)
from kafkapy.sim.promises.topics import TopicFacts

NOW = Instant(1_000_000)


def _promises(**settings: str) -> PartitionPromises:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return PartitionPromises(TopicFacts("t", UUID(int=1), 1, named), 0)


def _send(promises: PartitionPromises, *keys: str, value: bytes | None = b"v") -> list[Sent]:
    """One record for each key, not acknowledged yet."""
    batch = []
    for key in keys:
        number = len(promises.sent)
        sent = Sent(number, key.encode(), value, NOW, NOW, promises.topic.era)
        promises.sent[number] = sent
        batch.append(sent)
    return batch


def _contents(*batch: Sent, start: int = 0, end: int | None = None) -> Contents:
    """The records at consecutive offsets, or where they are known to be."""
    read = []
    for offset, sent in enumerate(batch, start):
        at = offset if sent.offset is None else sent.offset
        read.append(ReadRecord(at, sent.number, sent.key, sent.value, sent.timestamp))
    return Contents(start, start + len(read) if end is None else end, tuple(read))


@pytest.mark.parametrize("death", list(Death))
def test_what_is_all_there_is_fine(death: Death) -> None:
    promises = _promises()
    batch = _send(promises, "a", "b")
    promises.acknowledged(batch, 0)
    assert not promises.recovered(_contents(*batch), death, NOW)


def test_a_power_cut_may_take_what_was_not_flushed() -> None:
    promises = _promises()
    batch = _send(promises, "a", "b")
    promises.acknowledged(batch, 0)
    assert promises.recovered(_contents(batch[0]), Death.POWER, NOW)
    assert promises.acknowledged_end == 1


@pytest.mark.parametrize("death", [Death.KILLED, Death.STOPPED])
def test_nothing_else_may(death: Death) -> None:
    promises = _promises()
    batch = _send(promises, "a", "b")
    promises.acknowledged(batch, 0)
    with pytest.raises(BrokenPromise, match="ends at 1 where 2 was safe"):
        promises.recovered(_contents(batch[0]), death, NOW)


def test_what_was_acknowledged_after_its_flush_survives_a_power_cut() -> None:
    promises = _promises(flush_messages="1")
    batch = _send(promises, "a", "b")
    promises.acknowledged(batch, 0)
    with pytest.raises(BrokenPromise, match="safe from a power cut"):
        promises.recovered(_contents(batch[0]), Death.POWER, NOW)


def test_so_does_what_a_consumer_of_such_a_topic_has_seen() -> None:
    promises = _promises(flush_messages="1")
    batch = _send(promises, "a", "b")
    promises.consumed(_contents(*batch).records, 2)
    with pytest.raises(BrokenPromise, match="safe from a power cut"):
        promises.recovered(_contents(batch[0]), Death.POWER, NOW)


def test_an_acknowledgement_across_a_change_of_settings_promises_no_flush() -> None:
    promises = _promises(flush_messages="1")
    batch = _send(promises, "a", "b")
    promises.topic.altering({"flush.messages": "1000"})
    promises.topic.altered({"flush.messages": "1000"})
    promises.acknowledged(batch, 0)
    assert promises.recovered(_contents(batch[0]), Death.POWER, NOW)


def test_what_was_flushed_at_a_clean_stop_survives_everything() -> None:
    promises = _promises()
    batch = _send(promises, "a", "b")
    promises.acknowledged(batch, 0)
    promises.all_flushed()
    with pytest.raises(BrokenPromise, match="safe from a power cut"):
        promises.recovered(_contents(batch[0]), Death.POWER, NOW)


def test_what_nobody_acknowledged_may_be_there_or_not() -> None:
    promises = _promises()
    batch = _send(promises, "a", "b")
    assert not promises.recovered(_contents(batch[0]), Death.KILLED, NOW)


def test_what_nobody_sent_is_invented() -> None:
    promises = _promises()
    invented = Contents(0, 1, (ReadRecord(0, 99, b"a", b"v", NOW),))
    with pytest.raises(BrokenPromise, match="never sent"):
        promises.recovered(invented, Death.POWER, NOW)


def test_a_record_that_came_back_different_is_noticed() -> None:
    promises = _promises()
    (sent,) = _send(promises, "a")
    wrong = _contents(sent).records[0]._replace(value=b"w")
    with pytest.raises(BrokenPromise, match="was sent as"):
        promises.recovered(Contents(0, 1, (wrong,)), Death.POWER, NOW)


def test_a_refused_record_must_not_turn_up() -> None:
    promises = _promises()
    batch = _send(promises, "a")
    promises.refused(batch)
    with pytest.raises(BrokenPromise, match="was refused"):
        promises.recovered(_contents(*batch), Death.POWER, NOW)


def test_a_record_must_not_be_there_twice() -> None:
    promises = _promises()
    (sent,) = _send(promises, "a")
    with pytest.raises(BrokenPromise, match="twice"):
        promises.recovered(_contents(sent, sent), Death.POWER, NOW)


def test_offsets_have_no_gaps_unless_the_cleaner_may_have_made_them() -> None:
    for policy, is_fine in (("delete", False), ("compact", True)):
        promises = _promises(cleanup_policy=policy)
        batch = _send(promises, "a", "a", "a")
        promises.acknowledged(batch, 0)
        contents = _contents(batch[0], batch[2], end=3)
        if is_fine:
            promises.recovered(contents, Death.KILLED, NOW)
        else:
            with pytest.raises(BrokenPromise, match="1 is missing"):
                promises.recovered(contents, Death.KILLED, NOW)


def test_the_cleaner_leaves_the_last_value_of_each_key() -> None:
    promises = _promises(cleanup_policy="compact")
    batch = _send(promises, "a", "b", "a")
    promises.acknowledged(batch, 0)
    with pytest.raises(BrokenPromise, match="last value of b'a' is gone"):
        promises.recovered(_contents(batch[0], batch[1], end=3), Death.KILLED, NOW)


def test_a_deleted_key_may_be_gone_but_not_come_back() -> None:
    promises = _promises(cleanup_policy="compact")
    batch = [*_send(promises, "a"), *_send(promises, "a", value=None)]
    promises.acknowledged(batch, 0)
    promises.recovered(Contents(0, 2, ()), Death.KILLED, NOW)
    with pytest.raises(BrokenPromise, match="is back at 0"):
        promises.recovered(_contents(batch[0], end=2), Death.KILLED, NOW)


@pytest.mark.parametrize(
    ("settings", "age_ms", "is_fine"),
    [
        ({"retention.ms": "-1"}, 10**12, False),
        ({"retention.ms": "1000"}, 1001, True),
        ({"retention.ms": "1000"}, 1000, False),
        ({"retention.ms": "-1", "retention.bytes": "0"}, 0, True),
        ({"retention.ms": "1000", "cleanup.policy": "compact"}, 10**12, False),
    ],
)
def test_the_start_moves_as_far_as_retention_allows(
    settings: dict[str, str], age_ms: int, is_fine: bool
) -> None:
    promises = _promises()
    promises.topic = TopicFacts("t", UUID(int=1), 1, settings)
    batch = _send(promises, "a", "b")
    promises.acknowledged(batch, 0)
    contents, now = _contents(batch[1], start=1), Instant(NOW + age_ms)
    if is_fine:
        promises.recovered(contents, Death.KILLED, now)
    else:
        with pytest.raises(BrokenPromise, match="nobody let"):
            promises.recovered(contents, Death.KILLED, now)


def test_the_start_moves_over_what_the_cleaner_may_have_taken() -> None:
    promises = _promises(cleanup_policy="compact,delete", retention_ms="1000")
    batch = _send(promises, "a", "a", "b")
    promises.acknowledged(batch, 0)
    promises.recovered(_contents(batch[1], batch[2], start=1), Death.KILLED, NOW)
    with pytest.raises(BrokenPromise, match="nobody let"):
        promises.recovered(_contents(batch[2], start=2), Death.KILLED, NOW)


def test_the_start_moves_as_far_as_clients_deleted() -> None:
    promises = _promises()
    batch = _send(promises, "a", "b")
    promises.acknowledged(batch, 0)
    promises.deleted_below = 1
    promises.recovered(_contents(batch[1], start=1), Death.KILLED, NOW)


def test_two_records_are_not_acknowledged_at_one_offset() -> None:
    promises = _promises()
    promises.acknowledged(_send(promises, "a"), 5)
    with pytest.raises(BrokenPromise, match="offset 5"):
        promises.acknowledged(_send(promises, "b"), 5)


def test_a_retry_is_acknowledged_where_it_was() -> None:
    promises = _promises()
    batch = _send(promises, "a")
    promises.acknowledged(batch, 5)
    promises.acknowledged(batch, 5)
    with pytest.raises(BrokenPromise, match="also at offset 6"):
        promises.acknowledged(batch, 6)


def test_the_high_watermark_does_not_go_back_while_the_node_lives() -> None:
    promises = _promises()
    promises.watermark_seen(5)
    with pytest.raises(BrokenPromise, match="went back from 5 to 4"):
        promises.watermark_seen(4)


def test_consumers_see_nothing_above_the_high_watermark() -> None:
    promises = _promises()
    batch = _send(promises, "a", "b")
    with pytest.raises(BrokenPromise, match="above 1"):
        promises.consumed(_contents(*batch).records, 1)


def test_timestamps_are_the_brokers_business_where_it_stamps_them() -> None:
    for settings, is_fine in (({}, False), ({"message.timestamp.type": "LogAppendTime"}, True)):
        promises = _promises()
        promises.topic = TopicFacts("t", UUID(int=1), 1, settings)
        (sent,) = _send(promises, "a")
        contents = _contents(replace(sent, timestamp=NOW + 5))
        if is_fine:
            promises.recovered(contents, Death.KILLED, NOW)
        else:
            with pytest.raises(BrokenPromise, match="was sent as"):
                promises.recovered(contents, Death.KILLED, NOW)


def test_a_tombstone_that_nobody_saw_may_have_taken_the_last_value() -> None:
    """Sent with acks=0, it was appended, did its work, and went."""
    promises = _promises(cleanup_policy="compact")
    batch = _send(promises, "a", "b")
    promises.acknowledged(batch, 0)
    gone = _contents(batch[1], end=3)
    with pytest.raises(BrokenPromise, match="the last value"):
        promises.recovered(gone, Death.KILLED, NOW)
    _send(promises, "a", value=None)
    promises.recovered(gone, Death.KILLED, NOW)
