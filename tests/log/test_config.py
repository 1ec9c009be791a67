"""The topic settings as a log sees them."""

from kafkapy.log.config import FOREVER_MS, LogConfig


def test_the_defaults_are_kafkas() -> None:
    config = LogConfig()
    assert config.segment_bytes == 1 << 30
    assert config.retention_ms == config.segment_ms == 604_800_000
    assert config.max_message_bytes == 1_048_588
    assert config.flush_messages == FOREVER_MS == 2**63 - 1
    assert config.deletes_old
    assert not config.is_compacted
    assert not config.uses_log_append_time


def test_a_compacted_topic_rolls_for_its_compaction_lag() -> None:
    assert LogConfig(max_compaction_lag_ms=5).max_segment_age_ms == 604_800_000
    compacted = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=5)
    assert compacted.max_segment_age_ms == 5
