"""Text <-> value by type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.broker.config.table.key import ConfigType, Value
from kafkapy.broker.config.table.values import java_double, parse_as, to_text


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ConfigType.BOOLEAN, " True ", True),
        (ConfigType.BOOLEAN, "false", False),
        (ConfigType.INT, " 42 ", 42),
        (ConfigType.INT, "+7", 7),
        (ConfigType.INT, "-2147483648", -(2**31)),
        (ConfigType.LONG, "9223372036854775807", 2**63 - 1),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.DOUBLE, "0.5", 0.5),
        (ConfigType.DOUBLE, "1e3", 1000.0),
        (ConfigType.DOUBLE, "2d", 2.0),
        (ConfigType.LIST, "a, b ,c", ("a", "b", "c")),
        (ConfigType.LIST, "", ()),
        (ConfigType.LIST, " ", ()),
        (ConfigType.LIST, "a,,b", ("a", "", "b")),
        (ConfigType.STRING, " x ", "x"),
        (ConfigType.PASSWORD, "secret", "secret"),
    ],
)
def test_text_is_read_by_the_type_of_its_key(kind: ConfigType, text: str, value: Value) -> None:
    assert parse_as(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ConfigType.BOOLEAN, "yes"),
        (ConfigType.BOOLEAN, ""),
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "1.0"),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "٣"),
        (ConfigType.INT, ""),
        (ConfigType.SHORT, "32768"),
        (ConfigType.LONG, "x"),
        (ConfigType.DOUBLE, "half"),
        (ConfigType.DOUBLE, ""),
        (ConfigType.DOUBLE, "1_0.5"),
    ],
)
def test_text_of_another_type_is_refused(kind: ConfigType, text: str) -> None:
    with pytest.raises(ValueError, match=r"Not a number of type|Expected value to be either"):
        parse_as(kind, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5"),
        (1.0, "1.0"),
        (0.0, "0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (10000000.0, "1.0E7"),
        (123456789.0, "1.23456789E8"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (-2.5e-10, "-2.5E-10"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_are_written_as_java_writes_them(value: float, text: str) -> None:
    assert java_double(value) == text


@given(st.floats(allow_nan=False))
def test_a_double_survives_being_written(value: float) -> None:
    assert parse_as(ConfigType.DOUBLE, java_double(value)) == value


@given(st.lists(st.from_regex(r"[a-z.]+", fullmatch=True)))
def test_a_list_survives_being_written(items: list[str]) -> None:
    assert parse_as(ConfigType.LIST, to_text(tuple(items)) or "") == tuple(items)
