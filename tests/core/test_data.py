import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, Generic, TypeVar

import pytest

from kafkapy.core.data import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    name: str = "nobody"
    age: int


@dataclass(slots=True)
class Counter:
    count: int
    seen: set[int] = field(default_factory=set, repr=False)
    total: int = field(default=0, init=False)
    log: list[int] = field(default_factory=list, init=False)


@dataclass(slots=True, eq=False)
class Identity:
    value: int


@dataclass(frozen=True, slots=True)
class Box(Generic[T]):
    value: T

    def __repr__(self) -> str:
        return "a box"

    def __hash__(self) -> int:
        return 7


@dataclass(frozen=True, slots=True)
class Nothing:
    """Has no fields."""


def test_fields_are_set_by_position_by_name_and_by_default() -> None:
    assert (Point(1).x, Point(1).y, Point(1, 2).y, Point(y=3, x=1).y) == (1, 0, 2, 3)
    assert (Named(age=4).name, Named(age=4, name="a").name) == ("nobody", "a")


def test_a_factory_makes_a_new_value_for_each_object() -> None:
    first, second = Point(1), Point(1)
    assert first.tags == second.tags == []
    assert first.tags is not second.tags
    assert Point(1, tags=["a"]).tags == ["a"]


def test_fields_that_are_not_given_are_made() -> None:
    counter = Counter(3)
    assert (counter.count, counter.seen, counter.total, counter.log) == (3, set(), 0, [])
    counter.total += 1
    assert counter.total == 1


def test_the_first_object_and_the_later_ones_are_alike() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        value: int

    assert [Fresh(1), Fresh(1)] == [Fresh(1)] * 2
    assert hash(Fresh(1)) == hash(Fresh(1))
    assert Fresh.__init__.__qualname__.endswith("Fresh.__init__")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda point, _: point(), "missing 1 required positional argument: 'x'"),
        (lambda point, _: point(1, 2, [], 4), "takes from 2 to 4 positional arguments"),
        (lambda point, _: point(1, z=2), "unexpected keyword argument 'z'"),
        (lambda _, named: named(4), "takes 1 positional argument"),
    ],
)
def test_wrong_arguments_are_a_type_error_every_time(
    make: Callable[[Any, Any], object], says: str
) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=says):
            make(Point, Named)


def test_equal_are_objects_of_one_class_with_equal_compared_fields() -> None:
    assert Point(1, 2, ["a"]) == Point(1, 2, ["b"])
    assert hash(Point(1, 2, ["a"])) == hash(Point(1, 2, ["b"]))
    assert Point(1, 2) != Point(2, 2)
    assert Point(1, 2).__eq__((1, 2, [])) is NotImplemented
    assert Nothing() == Nothing()
    assert Counter(1) == Counter(1)
    assert Identity(1) != Identity(1)
    assert len({Identity(1), Identity(1)}) == 2


def test_what_can_change_is_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter(1))


def test_a_frozen_one_cannot_be_changed() -> None:
    point = Point(1)
    with pytest.raises(FrozenInstanceError, match="assign to field 'x'"):
        point.x = 2  # type: ignore[misc]  # that it fails is the point
    with pytest.raises(FrozenInstanceError, match="delete field 'x'"):
        del point.x
    assert point.x == 1


def test_there_is_no_room_for_other_attributes() -> None:
    assert not hasattr(Counter(1), "__dict__")
    with pytest.raises(AttributeError):
        Counter(1).other = 2  # type: ignore[attr-defined]  # that it fails is the point


def test_methods_that_the_class_has_stay_its_own() -> None:
    assert (repr(Box(1)), hash(Box(1)), Box(1) == Box(1)) == ("a box", 7, True)


def test_an_object_says_what_it_is() -> None:
    assert repr(Point(1, tags=["a"])) == "Point(x=1, y=0, tags=['a'])"
    assert repr(Counter(2)) == "Counter(count=2, total=0, log=[])"
    assert repr(Nothing()) == "Nothing()"


def test_it_is_a_dataclass_to_everybody_else() -> None:
    assert dataclasses.is_dataclass(Point)
    assert [one.name for one in dataclasses.fields(Point)] == ["x", "y", "tags"]
    assert dataclasses.replace(Point(1, 2), x=5) == Point(5, 2)
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 0, "tags": []}
    assert Point.__match_args__ == ("x", "y", "tags")
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_copies_and_pickles_are_equal() -> None:
    point = Point(1, 2, ["a"])
    for twin in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert (twin, twin.tags) == (point, ["a"])
