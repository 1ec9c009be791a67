"""Topics of all kinds, drawn: what each is for, and what may be altered later.

Every kind is there to reach something: small segments roll, short retention deletes, a
low dirty ratio cleans, flush.messages=1 waits for the disk.
"""

from typing import Final

from kafkapy.sim.world.rng import SimRng

# Batches stay below this, so that no producer is refused for their size by accident.
LARGEST_BATCH_BYTES: Final = 4000

_CODECS: Final = ("producer", "producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
_CLEANING: Final = ("delete", "delete", "compact", "compact,delete")


def draw_settings(rng: SimRng) -> dict[str, str]:
    policy = rng.choice(_CLEANING)
    settings = {
        "internal.segment.bytes": str(rng.magnitude(LARGEST_BATCH_BYTES + 100, 40_000)),
        "cleanup.policy": policy,
        "retention.ms": "-1",
        "file.delete.delay.ms": str(rng.choice((0, 500, 5_000, 60_000))),
    }
    if rng.chance(55):
        settings["flush.messages"] = "1"
    if rng.chance(20):
        settings["flush.ms"] = str(rng.choice((0, 500, 3_000)))
    if rng.chance(50):
        settings["index.interval.bytes"] = str(rng.choice((0, 100, 1_000)))
    if rng.chance(25):
        settings["segment.ms"] = str(rng.choice((1_000, 10_000, 60_000)))
    if rng.chance(10):
        settings["segment.jitter.ms"] = "500"
    if "compact" in policy:
        settings |= _compacting(rng)
    if "delete" in policy:
        settings |= _deleting(rng)
    if rng.chance(40):
        settings["compression.type"] = rng.choice(_CODECS)
    if rng.chance(10):
        settings["message.timestamp.type"] = "LogAppendTime"
    return settings


def draw_change(rng: SimRng, settings: dict[str, str]) -> dict[str, str]:
    """Some settings of another draw: what to set. Never so that the two lags conflict."""
    drawn = draw_settings(rng)
    names = [name for name in sorted({*drawn, *settings}) if rng.chance(30)]
    return {name: drawn[name] for name in names if name in drawn} or {
        "flush.messages": rng.choice(("1", "9223372036854775807"))
    }


def _compacting(rng: SimRng) -> dict[str, str]:
    settings = {
        "min.cleanable.dirty.ratio": rng.choice(("0.0", "0.01", "0.5")),
        "delete.retention.ms": str(rng.choice((0, 1_000, 60_000))),
    }
    if rng.chance(20):
        settings["min.compaction.lag.ms"] = str(rng.choice((1, 2_000)))
    if rng.chance(20):
        settings["max.compaction.lag.ms"] = str(rng.choice((2_000, 20_000)))
    return settings


def _deleting(rng: SimRng) -> dict[str, str]:
    settings = {}
    if rng.chance(30):
        settings["retention.ms"] = str(rng.choice((1_000, 20_000, 600_000)))
    if rng.chance(20):
        settings["retention.bytes"] = str(rng.choice((0, 5_000, 50_000)))
    return settings


def draw_broker_settings(rng: SimRng) -> dict[str, str]:
    """Dynamic ones, which topics have not set for themselves."""
    drawn = {
        "log.index.interval.bytes": str(rng.choice((0, 100, 4096))),
        "log.cleaner.min.cleanable.ratio": rng.choice(("0.1", "0.5", "0.9")),
        "message.max.bytes": str(rng.between(500_000, 2_000_000)),
        "log.cleaner.io.max.bytes.per.second": rng.choice(("100000.0", "1000000.0")),
    }
    name = rng.choice(list(drawn))
    return {name: drawn[name]}
