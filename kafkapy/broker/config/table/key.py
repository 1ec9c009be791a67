"""One row of the configuration table.

A section is a class whose attributes are its rows; the attribute's name with dots for
underscores is Kafka's name of the key:

    class LogKeys(Section):
        log_segment_bytes = int32(1073741824, "Size at which a segment rolls.", ...)
              |                       |
        "log.segment.bytes"       Key[int], so `config.log_segment_bytes` is an int

A `Key` is a descriptor without `__set__`: BrokerConfig stores each value in its own
`__dict__` under the attribute's name, which wins, so reading a setting costs one plain
attribute load and the type checker knows its type.
"""

from collections.abc import Iterator
from enum import Enum, IntEnum
from typing import Any, ClassVar, Final, Generic, TypeVar, overload

from kafkapy.broker.config.table.validators import ANYTHING, Validator
from kafkapy.core.data import dataclass


class ConfigType(IntEnum):
    """The number of a type in DescribeConfigs responses (v3)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Dynamic(Enum):
    """Whether a broker key can be altered while the broker runs, and for whom."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Importance(Enum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class NoDefault:
    """The type of `REQUIRED`: this key has no default."""

    def __repr__(self) -> str:
        return "(required)"


REQUIRED: Final = NoDefault()

T = TypeVar("T")
Value = bool | int | float | str | tuple[str, ...] | None


@dataclass(slots=True, eq=False)
class Key(Generic[T]):
    """What is known of one key. `acted_on` is False where kafkapy accepts a value that
    changes nothing; `note` then says why. `synonyms` of a topic's or group's key are the
    broker's keys that its default comes from, the first that is set."""

    kind: ConfigType
    default: T | NoDefault
    documentation: str
    validator: Validator = ANYTHING
    dynamic: Dynamic = Dynamic.READ_ONLY
    importance: Importance = Importance.MEDIUM
    is_internal: bool = False
    acted_on: bool = True
    note: str = ""
    synonyms: tuple[str, ...] = ()
    name: str = ""
    attribute: str = ""

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute
        self.name = attribute.replace("_", ".")

    @overload
    def __get__(self, instance: None, owner: type) -> "Key[T]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> "Key[T] | T":
        if instance is None:
            return self
        raise AttributeError(f"{self.name} is not set")

    @property
    def default_value(self) -> Value:
        """The default; None also for a key without one."""
        default: Any = self.default
        value: Value = None if isinstance(default, NoDefault) else default
        return value

    @property
    def is_sensitive(self) -> bool:
        return self.kind is ConfigType.PASSWORD


class Section:
    """A part of the table: a class whose attributes are keys."""

    table: ClassVar[dict[str, Key[Any]]] = {}

    def __init_subclass__(cls) -> None:
        cls.table = {key.name: key for key in _keys_of(cls)}


def _keys_of(cls: type) -> Iterator[Key[Any]]:
    for parent in reversed(cls.__mro__):
        for value in vars(parent).values():
            if isinstance(value, Key):
                yield value
