"""An answer that refuses a request as a broker would, without doing what it asked.

Kafka's clients look for an error where the API has it: per partition, per group, or for
the whole request. So the answer mirrors the request: walking the response's schema, every
`error_code` gets the code, every array has one element for each element of the request's
array, and names, ids and indexes are copied. Metadata is the exception: it is answered as
always (clients need the brokers), with the codes of its topics replaced.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final

from kafkapy.core.errors import ErrorCode
from kafkapy.protocol.schemas.kio_schemas import load_response_schema
from kafkapy.protocol.schemas.schema import FIXED, FieldPlan, StructPlan, plan

# Arrays of a response -> what the request calls the same things.
_ARRAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "coordinators": ("coordinator_keys",),
    "groups": ("groups", "group_ids"),
    "partition_responses": ("partition_data", "partitions"),
    "partitions": ("partitions", "partition_indexes"),
    "responses": ("topic_data", "topics", "resources"),
    "results": ("results", "topics", "groups_names", "resources", "topic_names"),
    "results_by_partition": ("partitions",),
    "results_by_topic_v3_and_below": ("v3_and_below_topics",),
    "results_by_transaction": ("transactions",),
    "topic_results": ("topics",),
    "topics": ("topics",),
    "members": ("members",),
}
_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "group_id": ("group_id",),
    "index": ("index", "partition_index", "partition"),
    "name": ("name", "topic"),
    "partition": ("partition", "partition_index"),
    "partition_index": ("partition_index", "partition", "index"),
    "topic": ("topic", "name"),
}
_ERROR_FIELDS: Final = ("error_code", "partition_error_code")
# The only codes that concern a whole Fetch; all others are told per partition.
_SESSION_ERRORS: Final = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


def refuse(api_key: int, version: int, request: Any, code: ErrorCode) -> dict[str, Any]:
    """A whole response for `request` in which everything failed with `code`."""
    return _mirror(plan(load_response_schema(api_key, version), version), request, code)


def refuse_fetch(
    version: int,
    body: Any,
    fetched: Mapping[tuple[str, Any], set[int]],
    code: ErrorCode,
) -> dict[str, Any]:
    """`fetched` is what the connection reads: later fetches do not say it again."""
    if code in _SESSION_ERRORS:
        return {"throttle_time": 0, "error_code": code, "session_id": 0, "responses": []}
    return {
        "throttle_time": 0,
        "error_code": 0,
        "session_id": getattr(body, "session_id", 0),
        "responses": [
            {
                "topic": name,
                "topic_id": topic_id,
                "partitions": [
                    {
                        "partition_index": index,
                        "error_code": code,
                        "high_watermark": -1,
                        "last_stable_offset": -1,
                        "log_start_offset": -1,
                        "aborted_transactions": None,
                        "preferred_read_replica": -1,
                        "records": b"",
                    }
                    for index in sorted(indexes)
                ],
            }
            for (name, topic_id), indexes in fetched.items()
        ],
    }


def replace_codes(answer: Any, code: ErrorCode, applies: Callable[[Any], bool]) -> Any:
    """A decoded response as a dict tree; the codes of those `topics` that `applies` names
    are replaced, their partitions' too."""
    tree = tree_of(answer)
    for topic in tree["topics"]:
        if applies(topic):
            topic["error_code"] = code
            for partition in topic["partitions"]:
                partition["error_code"] = code
    return tree


def tree_of(value: Any) -> Any:
    """A decoded response as dicts and lists."""
    if is_dataclass(value):
        return {one.name: tree_of(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple):
        return [tree_of(one) for one in value]
    return value


def _mirror(struct: StructPlan, asked: Any, code: ErrorCode) -> dict[str, Any]:
    found: dict[str, Any] = {}
    is_named = False
    for field in struct.untagged:
        if field.name in _ERROR_FIELDS:
            found[field.name] = code
        elif field.is_array:
            inner = field.struct
            elements = () if inner is None else _elements(field.name, asked)
            found[field.name] = [_mirror(inner, one, code) for one in elements if inner]
        elif field.struct is not None:
            found[field.name] = None if field.nullable else _mirror(field.struct, asked, code)
        elif isinstance(asked, (str, int)) and not is_named and _fits(field, asked):
            # The request lists plain keys or indexes: they are what the first field names.
            found[field.name], is_named = asked, True
        else:
            found[field.name] = _value(field, asked)
    return found


def _elements(name: str, asked: Any) -> tuple[Any, ...]:
    for candidate in _ARRAYS.get(name, ()):
        value = getattr(asked, candidate, None)
        if isinstance(value, tuple):
            return value
    return ()


def _fits(field: FieldPlan, asked: str | int) -> bool:
    return field.kind == ("string" if isinstance(asked, str) else "int32")


def _value(field: FieldPlan, asked: Any) -> Any:
    for candidate in _VALUES.get(field.name, (field.name,)):
        if hasattr(asked, candidate) and candidate != "count":
            return getattr(asked, candidate)
    if field.name.endswith("offset"):
        return -1  # none, as Kafka says; the schema's own default is 0
    if field.default is not MISSING:
        return field.default
    if field.nullable:
        return None
    if field.kind in ("int32", "int64"):
        return -1  # no node, no time
    return FIXED[field.kind][1] if field.kind in FIXED else {"string": ""}.get(field.kind, b"")
