"""What may differ between the two answers, and why. Everything else may not."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from compat_tests.served import is_served

# Fields whose values are each server's own business, wherever they appear.
OWN = {
    "cluster_id": "each cluster has its own",
    "port": "each listens on its own",
    "session_id": "drawn at random",
    "producer_id": "the next of each server's own blocks",
    "member_id": "drawn at random",
    "log_dir": "a path on this machine",
    "total_bytes": "the disk goes on being used",
    "usable_bytes": "the disk goes on being used",
    "finalized_features_epoch": "an offset in each one's metadata log",
    "last_fetch_timestamp": "a moment",
    "last_caught_up_timestamp": "a moment",
    "log_append_time": "a moment",
    "last_timestamp": "a moment",
    "txn_start_time": "a moment",
    "transaction_start_time": "a moment",
    "leader_epoch_of_quorum": "how often each was started",
}

# Sentences are each server's own: only whether there is one is compared.
WORDS = {"error_message", "documentation", "batch_index_error_message", "status_detail"}

# Lists whose order means nothing: compared as if sorted by this field of their rows.
UNORDERED = {
    "api_keys": "api_key",
    "supported_features": "name",
    "finalized_features": "name",
    "configs": "name",
    "topics": "name",
    "results": "resource_name",
    "config_resources": "resource_name",
    "partitions": "partition_index",
    "partition_responses": "index",
    "groups": "group_id",
    "members": "process_id",
    "brokers": "node_id",
    "node_endpoints": "node_id",
}

# (case, the field's path) pairs that are known and left, each with its reason.
_SAYS_WHY = "Apache Kafka's controllers refuse it without a sentence, kafkapy's say why"
KNOWN: dict[tuple[str, str], str] = {
    ("a voter is added to a configured quorum", "error_message"): _SAYS_WHY,
    ("a voter is removed from a configured quorum", "error_message"): _SAYS_WHY,
}

# Rows of Apache Kafka's or of kafkapy's that are not compared, each with its reason.
_NOT_SERVED = "APIs that kafkapy does not serve are not advertised; docs/COMPAT.md lists them"
_QUORUM = "the oracle's quorum is configured (controller.quorum.voters), kafkapy's can change"
_LATER = "share.version 2 (dead letters) is of 4.4, which the oracle is not"
LEFT_OUT: dict[str, tuple[Callable[[Any], bool], str]] = {
    "api_keys": (lambda row: not is_served(row["api_key"]), _NOT_SERVED),
    "supported_features": (lambda row: bool(row["name"] == "share.version"), _LATER),
    "finalized_features": (lambda row: bool(row["name"] == "kraft.version"), _QUORUM),
}


Heard = Sequence[tuple[str, Any]]


def compared(case: str, apache: Heard, kafkapy: Heard) -> list[str]:
    """What differs between all that two servers said, in their order."""
    found: list[str] = []
    for number, ((label, left), (other, right)) in enumerate(zip(apache, kafkapy, strict=True)):
        assert label == other
        found += [f"{number}. {label}: {line}" for line in differences(case, left, right)]
    return found


def differences(case: str, apache: Any, kafkapy: Any, path: str = "") -> Iterator[str]:
    """One line for each field that differs and may not."""
    if (case, path) in KNOWN:
        return
    if isinstance(apache, dict) and isinstance(kafkapy, dict):
        for name in sorted({*apache, *kafkapy}):
            if name not in OWN:
                yield from differences(
                    case, apache.get(name), kafkapy.get(name), f"{path}.{name}" if path else name
                )
    elif isinstance(apache, list) and isinstance(kafkapy, list):
        apache, kafkapy = _compared(path, apache), _compared(path, kafkapy)
        by = UNORDERED.get(path.split(".")[-1].split("[")[0])
        if by is not None:
            apache, kafkapy = _sorted(apache, by), _sorted(kafkapy, by)
        if len(apache) != len(kafkapy):
            yield f"{path}: {len(apache)} in Apache Kafka's, {len(kafkapy)} in kafkapy's"
            yield f"   {str(apache)[:600]} and {str(kafkapy)[:600]}"
            return
        for index, (left, right) in enumerate(zip(apache, kafkapy, strict=True)):
            yield from differences(case, left, right, f"{path}[{_name(left, by, index)}]")
    elif path.split(".")[-1] in WORDS:
        if bool(apache) != bool(kafkapy):
            yield f"{path}: {apache!r} from Apache Kafka, {kafkapy!r} from kafkapy"
    elif apache != kafkapy:
        yield f"{path}: {apache!r} from Apache Kafka, {kafkapy!r} from kafkapy"


def _compared(path: str, rows: list[Any]) -> list[Any]:
    leaves_out, _ = LEFT_OUT.get(path, (None, None))
    return rows if leaves_out is None else [row for row in rows if not leaves_out(row)]


def _sorted(rows: list[Any], by: str) -> list[Any]:
    if all(isinstance(row, dict) and row.get(by) is not None for row in rows):
        return sorted(rows, key=lambda row: str(row[by]))
    return rows


def _name(row: Any, by: str | None, index: int) -> str:
    if by is not None and isinstance(row, dict) and isinstance(row.get(by), str):
        name: str = row[by]
        return name
    return str(index)
