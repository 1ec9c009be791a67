"""`like`: a pattern in which `*` stands for any text, and nothing else is special.

`\\*` is a star and `\\\\` a backslash. Between the stars are plain texts that have to be found one
after the other: each is searched for once, from where the one before ended, so time is linear.
"""

from collections.abc import Callable

from kafkapy.expressions.values import Value


def compiled_pattern(pattern: str) -> tuple[Callable[[Value], bool], int]:
    """Whether a text is like it; and how many characters have to be searched for in a text."""
    first, *others = _parts(pattern)
    if not others:
        return lambda text: bool(text == first), 0
    *middle, last = others
    least = len(first) + len(last)

    def is_like(text: Value) -> bool:
        if not isinstance(text, str) or len(text) < least:
            return False
        if not text.startswith(first) or not text.endswith(last):
            return False
        at, end = len(first), len(text) - len(last)
        for part in middle:
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True

    return is_like, sum(map(len, middle))


def _parts(pattern: str) -> list[str]:
    parts, part = [], ""
    chars = iter(pattern)
    for char in chars:
        if char == "*":
            parts.append(part)
            part = ""
        elif char == "\\":
            following = next(chars, "")
            part += following if following in ("*", "\\") else char + following
        else:
            part += char
    return [*parts, part]
