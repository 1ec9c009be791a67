"""What argparse refuses for the tools, before a broker is asked."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.cli.main import COMMANDS, command_parser, main
from kafkapy.testing import Broker


@pytest.mark.parametrize(
    "arguments",
    [
        ("topics", "create", "x", "--partitions", "99999999999"),
        ("topics", "create", "x", "--replication-factor", "40000"),
        ("topics", "alter", "x", "--partitions", "99999999999"),
        ("topics", "describe", "\udcff"),
        ("produce", "x", "--partition", "99999999999"),
        ("consume", "x", "--max", "0"),
        ("consume", "\udcff"),
        ("groups", "describe", "\udcff"),
        ("groups", "reset-offsets", "g", "--to-offset", "99999999999999999999"),
        ("groups", "reset-offsets", "g", "--shift-by=-99999999999999999999"),
        ("transactions", "describe", "\udcff"),
        ("transactions", "find-hanging", "--max-timeout-ms", "-1"),
        ("transactions", "abort", "--start-offset", "99999999999999999999"),
        ("health", "--timeout", "nan"),
        ("health", "--timeout", "-1"),
        ("topics", "shrink", "x", "--into", "y", "--timeout", "nan"),
        ("topics", "shrink", "x", "--into", "y", "--timeout", "1e30"),
    ],
)
def test_what_kafka_has_no_room_for_is_a_usage_error(
    arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert ": error: argument" in capfd.readouterr().err


def _leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in dict.fromkeys(action.choices.values()):
                yield from _leaves(one)
            return
    yield parser


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_text_is_refused_everywhere_but_in_names_of_files(command: str) -> None:
    (actions,) = (
        one for one in command_parser([command])._actions
        if isinstance(one, argparse._SubParsersAction)
    )  # fmt: skip
    for leaf in _leaves(actions.choices[command]):
        for argument in leaf._actions:
            if argument.nargs == 0 or argument.choices is not None:
                continue
            if argument.metavar in ("FILE", "DIR"):
                assert leaf._get_value(argument, "\udcff") == "\udcff"
            else:
                with pytest.raises(argparse.ArgumentError):
                    leaf._get_value(argument, "\udcff")


def test_output_may_have_characters_that_the_terminal_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Broker() as kafka, (tmp_path / "out").open("w", encoding="ascii") as narrow:
        kafka.produce("orders", "caf\u00e9")
        monkeypatch.setattr("sys.stdout", narrow)
        given = ["consume", "orders", "--format", "full"]
        assert main([*given, "--bootstrap-server", kafka.bootstrap]) == 0
    assert (tmp_path / "out").read_text().endswith("caf\\xe9\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("topics",), "kafkapy topics: error: the following arguments are required: ACTION"),
        (("topics", "create"), "kafkapy topics create: error: the following arguments"),
        (("topics", "create", "x", "--bogus"), "kafkapy topics create: error: unrecognized"),
        (("topics", "--bogus", "list"), "kafkapy topics: error: unrecognized"),
        (("produce", "x", "y\nz"), "kafkapy produce: error: unrecognized arguments: y z"),
        (("groups", "reset-offsets", "g"), "kafkapy groups reset-offsets: error: one of the"),
        (("nothing",), "kafkapy: error: argument COMMAND: invalid choice: 'nothing'"),
        (("--bogus",), "kafkapy: error: unrecognized arguments: --bogus"),
    ],
)
def test_a_usage_error_is_one_line_of_the_command_it_is_about(
    arguments: tuple[str, ...], told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capfd.readouterr().err
    assert said.startswith(told)
    command = told.partition(":")[0]
    assert said.endswith(f" (see {command} --help)\n")
    assert said.count("\n") == 1


_ASKING = {
    "topics": ("list", "describe x", "create x", "alter x", "delete x", "configs x"),
    "groups": ("list", "describe g", "reset-offsets g --to-latest", "delete g"),
    "transactions": ("list", "describe t", "find-hanging", "abort t"),
    "produce": ("x",),
    "consume": ("x",),
}


@pytest.mark.parametrize(
    "command", [f"{name} {rest}" for name, actions in _ASKING.items() for rest in actions]
)
def test_who_asks_a_broker_is_told_which_as_kafkas_tools_are(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the option, by its short old name, by the environment, or it is the usual one."""
    words = command.split()
    parse = command_parser(words[:1]).parse_args
    monkeypatch.delenv("KAFKAPY_BOOTSTRAP_SERVER", raising=False)
    assert parse(words).server == "127.0.0.1:9092"
    monkeypatch.setenv("KAFKAPY_BOOTSTRAP_SERVER", "")
    assert command_parser(words[:1]).parse_args(words).server == "127.0.0.1:9092"
    monkeypatch.setenv("KAFKAPY_BOOTSTRAP_SERVER", "kafka:1")
    parse = command_parser(words[:1]).parse_args
    assert parse(words).server == "kafka:1"
    assert parse([*words, "--bootstrap-server", "kafka:2"]).server == "kafka:2"
    assert parse([*words, "--server", "kafka:3"]).server == "kafka:3"
