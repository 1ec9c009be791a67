"""What the tools' arguments may be: numbers that fit the field they go into, and names that
can be sent; the options that the tools share. A value that is neither is argparse's to refuse,
before anybody is asked."""

import argparse
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

DEFAULT_SERVER: Final = "127.0.0.1:9092"
SERVER_VARIABLE: Final = "KAFKAPY_BOOTSTRAP_SERVER"
LOGIN_VARIABLE: Final = "KAFKAPY_COMMAND_CONFIG"

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
    """Every argument that has no type of its own. What the shell gave must be text: Kafka's
    strings are UTF-8, and bytes that are not reach us as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{text!a} is not UTF-8") from None
    return text


def file_name(text: str) -> str:
    """Of a file or directory, whose name may be any bytes."""
    return text


def seconds(text: str) -> float:
    """How long to wait: something, and not for ever."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0 < value <= _LONGEST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text}: expected more than 0, at most a day")
    return value


_LONGEST_SECONDS: Final = 24 * 60 * 60.0
_UNITS: Final = ("", "k", "m", "g")
_SIZE: Final = re.compile(r"(\d{1,12})\s*([kmg]?)(i?)b?", re.IGNORECASE | re.ASCII)


def size_argument(text: str) -> int:
    """Bytes: 1048576, 50MB, 1GiB."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or (found[3] and not found[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is no size; for example 1048576, 50MB, 1GiB")
    each: int = (1024 if found[3] else 1000) ** _UNITS.index(found[2].lower())
    return int(found[1]) * each


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, in the name of the command that it is wrong about.
    argparse itself prints the usage first, and leaves an unknown option to the outermost
    parser, which knows nothing of the command. An argument without a type is `utf8`."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.register("type", None, utf8)

    def add_subparsers(self, **named: Any) -> Any:
        made = super().add_subparsers(**named)
        # All that a subcommand is given passes; its own parser looks at each of them.
        made.type = file_name
        return made

    def error(self, message: str) -> NoReturn:
        line = " ".join(message.split())
        self.exit(2, f"{self.prog}: error: {line} (see {self.prog} --help)\n")

    def parse_known_args(  # type: ignore[override]  # its overloads are about namespaces
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown


def add_bootstrap_server(parser: argparse.ArgumentParser) -> None:
    """Whom to ask. The environment's default is read now, not when this is imported."""
    parser.add_argument(
        "--bootstrap-server",
        "--server",
        dest="server",
        default=os.environ.get(SERVER_VARIABLE) or DEFAULT_SERVER,
        metavar="HOST:PORT",
        help="a broker, or several with commas between, tried in turn "
        f"(default: ${SERVER_VARIABLE}, or {DEFAULT_SERVER})",
    )
    add_command_config(parser)


def add_command_config(parser: argparse.ArgumentParser) -> None:
    """As whom to ask."""
    parser.add_argument(
        "--command-config",
        default=os.environ.get(LOGIN_VARIABLE) or None,
        type=file_name,
        metavar="FILE",
        help="client.properties, as for Kafka's tools: security.protocol, sasl.*, ssl.* "
        f"(default: ${LOGIN_VARIABLE})",
    )


def asking() -> argparse.ArgumentParser:
    """What every action of a command takes that asks brokers and shows rows: a parent."""
    common = argparse.ArgumentParser(add_help=False)
    add_bootstrap_server(common)
    common.add_argument("--json", action="store_true", help="one JSON object a line")
    return common


INT16: Final = number(-INT16_MAX - 1, INT16_MAX)
INT32: Final = number(-INT32_MAX - 1, INT32_MAX)
INT64: Final = number(-INT64_MAX - 1, INT64_MAX)
