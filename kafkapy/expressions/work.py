"""What the operations cost: ten nanoseconds each, at worst, as measured with CPython 3.11.

Counts, not clocks: so an evaluation gives the same value everywhere. Each is above what the worst
text or array of that size took (tests/expressions/test_work.py has those), for a common one often
ten times above it.
"""

from typing import Final

from kafkapy.expressions.values import Value

UNITS_A_US: Final = 100
#: What the operations of one evaluation look at, all together.
MOST: Final = 2**23

#: Calling a function, an operator on two small values, what JSON does before its first character.
CALL: Final = 40
JSON_CALL: Final = 150
#: Looking a header up in a tuple of them, once for each.
A_HEADER: Final = 12
#: Of an array or object that is compared, searched for something larger than a number, written.
COMPARED_MEMBER: Final = 42
WRITTEN_MEMBER: Final = 50
#: Of an array that is searched for a number, true or false: its own members, not what is in them.
SEARCHED_MEMBER: Final = 6

# An array or object: Python makes it, and takes it away.
_A_BRACKET: Final = 15
# A level of what is nested, which may have one member.
_A_LEVEL: Final = 4
_A_DOUBLE: Final = 2
# Characters of texts that cost what a member does.
_CHARACTERS_A_MEMBER: Final = 16
_SHORT_JSON: Final = 2_000
# CPython's str.find (stringlib/fastsearch.h): for a text and a part that are shorter than that
# it may compare the whole part at each place, otherwise at no more than the last of them.
_SHORT_TEXT: Final = 30_000
_LAST_PLACES: Final = 2_001
_COMPARED_CHARACTERS_A_UNIT: Final = 70
# Of an `array(...)`, as expressions are bounded.
_MOST_ARGUMENTS: Final = 500


def of_decoding(data: bytes) -> int:
    return len(data) >> (6 if data.isascii() else 1)


def of_text(text: Value) -> int:
    """Comparing it, copying it, its hash."""
    return CALL + (len(text) >> 4) if type(text) is str else CALL


def of_letters(text: Value) -> int:
    """Each letter by itself, unless they are ASCII's."""
    if type(text) is not str:
        return CALL
    return CALL + (len(text) >> 4 if text.isascii() else 4 * len(text))


def of_searching(text: Value, longest: int) -> int:
    """For a part, or for parts of which the longest has so many characters."""
    if type(text) is not str:
        return CALL
    size = len(text)
    places = max(size - longest, 0)
    if size >= _SHORT_TEXT:
        places = min(places, _LAST_PLACES)
    return CALL + size // 3 + places * longest // _COMPARED_CHARACTERS_A_UNIT


def of_searching_members(one: Value, count: int) -> int:
    """In an array of so many. Texts that an array was made of may be one text many times."""
    cost = CALL + SEARCHED_MEMBER * count
    if type(one) is str:
        cost += min(count, _MOST_ARGUMENTS) * (len(one) >> 6)
    return cost


def of_json(text: str) -> int:
    cost = JSON_CALL + 3 * len(text)
    if not _SHORT_JSON < cost <= MOST:  # too little for its brackets to matter, or too much anyway
        return cost
    return cost + _A_BRACKET * (text.count("[") + text.count("{"))


def members(value: Value, most: int) -> int:
    """How many there are in an array or object, in all its levels; more than `most`, and it was
    not looked at any further. Texts count as several, and so do doubles, which are slow to write.
    """
    count, level = 0, [value]
    while level and count <= most:
        count += len(level) + _A_LEVEL
        below: list[Value] = []
        for one in level:
            kind = type(one)
            if kind is list:
                below += one
            elif kind is dict:
                below += one.values()
                count += sum(map(len, one)) // _CHARACTERS_A_MEMBER
            elif kind is str:
                count += len(one) // _CHARACTERS_A_MEMBER
            elif kind is float:
                count += _A_DOUBLE
        level = below
    return count
