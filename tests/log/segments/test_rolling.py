"""When a log rolls: the same whether `should_roll` is asked for each batch or a `Room` says
that it need not be."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.core.time import Instant
from kafkapy.log.config import LogConfig
from kafkapy.log.partition_log import PartitionLog
from kafkapy.log.segments.rolling import NO_ROOM, room_in, should_roll
from kafkapy.protocol.batches.batch import read_header
from tests.log.support import Home, append, batch

EPOCH = 0

configs = st.builds(
    LogConfig,
    segment_bytes=st.sampled_from([300, 1500, 10_000]),
    segment_ms=st.sampled_from([20, 1000, 10_000]),
    segment_index_bytes=st.integers(24, 120),
    index_interval_bytes=st.sampled_from([0, 1, 150, 1000]),
)
# (bytes of a value, how much later than the one before)
batches_sent = st.lists(
    st.tuples(st.sampled_from([0, 0, 30, 200]), st.sampled_from([0, 0, 1, 30, -30, 500])),
    min_size=20,
    max_size=100,
)


def bases(log: PartitionLog) -> list[int]:
    return [segment.base_offset for segment in log.segments]


@settings(max_examples=200, deadline=None)
@given(config=configs, sent=batches_sent)
def test_a_log_rolls_where_the_rule_says(config: LogConfig, sent: list[tuple[int, int]]) -> None:
    log, asked = Home().open(config), Home().open(config)
    timestamp = 1000
    for size, more in sent:
        timestamp += more
        one = batch(size=size, timestamp=timestamp)
        if len(one) > config.segment_bytes:
            continue
        log.append_as_leader(one, leader_epoch=EPOCH)
        asked._appender._room = NO_ROOM
        asked.append_as_leader(one, leader_epoch=EPOCH)
        assert bases(log) == bases(asked)


def test_a_segment_with_room_is_not_asked_about_each_batch() -> None:
    log = Home().open()
    append(log)
    log.append_as_leader(batch(), leader_epoch=EPOCH)
    room = log._appender._room
    assert room is not NO_ROOM
    log.append_as_leader(batch(), leader_epoch=EPOCH)
    assert log._appender._room is room


def test_the_room_of_other_settings_is_not_believed() -> None:
    log = Home().open()
    append(log)
    log.append_as_leader(batch(), leader_epoch=EPOCH)
    log.config = LogConfig(segment_bytes=log.segments.active.size + 10)
    log.append_as_leader(batch(), leader_epoch=EPOCH)
    assert len(bases(log)) == 2


def test_there_is_no_room_behind_the_largest_relative_offset() -> None:
    log = Home().open()
    append(log)
    segment = log.segments.active
    room = room_in(segment, log.config)
    last = read_header(batch())._replace(base_offset=room.last_offset)
    assert not should_roll(segment, log.config, [last], 100, Instant(0))
    behind = last._replace(base_offset=room.last_offset + 1)
    assert should_roll(segment, log.config, [behind], 100, Instant(0))
