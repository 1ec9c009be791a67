"""`@dataclass`, whose methods are written when they are first called.

The standard library compiles the methods of a dataclass while its module is imported: up to
seven `exec`s, 0.3 ms on average, on Python 3.11. kafkapy has hundreds of small frozen
classes, of which a start needs few. Here:

    at import      fields and slots, by the standard library; 0.03 ms
    first object   `__init__`, which is then the class's own
    first == hash  `__eq__`, `__hash__`, likewise
    never          `__repr__`, `__setattr__` and `__delattr__` serve all classes

Measured in November 2026, Python 3.11, 20 starts each way in turns, to the first answer (`import
trio` alone 84 ms): median 201 ms with it, 163 at best; 281 ms with the standard one, 225 at best.
By the time a node serves, 230 classes have been made and 62 methods written: 11 ms, not 71.

Everything else is `dataclasses.dataclass`, to type checkers literally. Only what kafkapy
uses is there: slots always, no inheritance of fields, no ordering, no `__post_init__`.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

__all__ = ["dataclass"]

Method = Callable[..., Any]


def _dataclass(
    cls: type | None = None,
    /,
    *,
    slots: bool,
    frozen: bool = False,
    kw_only: bool = False,
    eq: bool = True,
) -> Any:
    assert slots, "every dataclass has slots here"

    def made(cls: type) -> type:
        return _make(cls, frozen=frozen, kw_only=kw_only, eq=eq)

    return made if cls is None else made(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _make(cls: type, *, frozen: bool, kw_only: bool, eq: bool) -> type:
    own = cls.__dict__
    assert "__post_init__" not in own, cls
    assert not any(map(dataclasses.is_dataclass, cls.__bases__)), cls
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # or it becomes the signature, and that takes longer than all
    bare: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)
    made: type = bare(cls)
    _write_when_called(made, "__init__", _init_frozen if frozen else _init)
    if "__repr__" not in own:
        made.__repr__ = _repr  # type: ignore[method-assign,assignment]  # a class, not an object
    if eq:
        if "__eq__" not in own:
            _write_when_called(made, "__eq__", _eq)
        if own.get("__hash__") is None and frozen:
            _write_when_called(made, "__hash__", _hash)
        elif own.get("__hash__") is None:
            made.__hash__ = None  # type: ignore[assignment]  # as Python says "unhashable"
    if frozen:
        for name, method in _FROZEN.items():
            setattr(made, name, method)
    return made


def _write_when_called(cls: type, name: str, write: Callable[[type], Method]) -> None:
    def first_call(self: object, *args: object, **given: object) -> object:
        method = write(cls)
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
        return method(self, *args, **given)

    setattr(cls, name, first_call)


# -- written for one class


def _init(cls: type) -> Method:
    return _written_init(cls, lambda name, value: f"self.{name} = {value}")


def _init_frozen(cls: type) -> Method:
    """Past `__setattr__`, straight into the slots."""
    return _written_init(cls, lambda name, value: f"_set_{name}(self, {value})")


def _written_init(cls: type, assign: Callable[[str, str], str]) -> Method:
    parts = dataclasses.fields(cls)
    names: dict[str, Any] = {"_NOTHING": _NOTHING}
    lines = []
    for part in parts:
        name = part.name
        names[f"_set_{name}"] = cls.__dict__[name].__set__
        names[f"_default_{name}"] = part.default
        names[f"_make_{name}"] = part.default_factory
        made = f"_make_{name}()" if _has_factory(part) else f"_default_{name}"
        if part.init:
            value = f"{made} if {name} is _NOTHING else {name}" if _has_factory(part) else name
            lines.append(assign(name, value))
        elif _has_factory(part) or part.default is not dataclasses.MISSING:
            lines.append(assign(name, made))
    positional = [_parameter(part) for part in parts if part.init and not part.kw_only]
    named = [_parameter(part) for part in parts if part.init and part.kw_only]
    parameters = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    return _compiled("__init__", parameters, lines or ["pass"], names)


def _parameter(part: "dataclasses.Field[Any]") -> str:
    if _has_factory(part):
        return f"{part.name}=_NOTHING"
    if part.default is dataclasses.MISSING:
        return part.name
    return f"{part.name}=_default_{part.name}"


def _has_factory(part: "dataclasses.Field[Any]") -> bool:
    return part.default_factory is not dataclasses.MISSING


def _eq(cls: type) -> Method:
    lines = [
        "if other.__class__ is self.__class__:",
        f"    return {_tuple_of('self', cls)} == {_tuple_of('other', cls)}",
        "return NotImplemented",
    ]
    return _compiled("__eq__", "self, other", lines, {})


def _hash(cls: type) -> Method:
    return _compiled("__hash__", "self", [f"return hash({_tuple_of('self', cls)})"], {})


def _tuple_of(owner: str, cls: type) -> str:
    parts = dataclasses.fields(cls)
    compared = [f"{owner}.{part.name}," for part in parts if part.compare]
    return f"({' '.join(compared)})"


def _compiled(name: str, parameters: str, lines: list[str], names: dict[str, Any]) -> Method:
    source = "\n ".join([f"def {name}({parameters}):", *lines])
    # Of fields of our own classes.
    exec(source, names)  # nosec B102
    method: Method = names.pop(name)
    return method


# -- the same for every class


class _Nothing:
    def __repr__(self) -> str:
        return "<made anew>"


_NOTHING: Final = _Nothing()


@functools.cache
def _shown(cls: type) -> tuple[str, ...]:
    return tuple(part.name for part in dataclasses.fields(cls) if part.repr)


def _repr(self: Any) -> str:
    told = ", ".join([f"{name}={getattr(self, name)!r}" for name in _shown(self.__class__)])
    return f"{self.__class__.__qualname__}({told})"


def _refuse_set(self: object, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[object]:
    return [getattr(self, part.name) for part in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for part, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, part.name, value)


_FROZEN: Final[dict[str, Method]] = {
    "__setattr__": _refuse_set,
    "__delattr__": _refuse_delete,
    # copy and pickle would use __setattr__
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}
