"""What the tools' arguments may be: numbers that fit the field they go into, and names that
can be sent. A value that is neither is argparse's to refuse, before anybody is asked."""

import argparse
from collections.abc import Callable
from typing import Final

INT16_MAX: Final = 2**15 - 1
INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1


def number(least: int, most: int) -> Callable[[str], int]:
    """Whole numbers from `least` to `most`."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and {most}")
        return value

    return read


def utf8(text: str) -> str:
    """Of a topic, group or transactional id. What the shell gave must be text: Kafka's
    strings are UTF-8, and bytes that are not reach us as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{text!a} is not UTF-8") from None
    return text


INT16: Final = number(-INT16_MAX - 1, INT16_MAX)
INT32: Final = number(-INT32_MAX - 1, INT32_MAX)
INT64: Final = number(-INT64_MAX - 1, INT64_MAX)
