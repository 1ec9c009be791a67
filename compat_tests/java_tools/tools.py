"""Running a tool against the broker of a test, and reading what it says."""

import re
import uuid
from pathlib import Path

from compat_tests.oracle import run_tool


def tool(name: str, broker: str, *arguments: str, stdin: str = "") -> str:
    """What a tool prints; its failure is the test's."""
    done = run_tool(name, "--bootstrap-server", broker, *arguments, stdin=stdin)
    assert done.returncode == 0, f"{name} {arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def failing(name: str, broker: str, *arguments: str, stdin: str = "") -> str:
    """What a tool that has to fail says."""
    done = run_tool(name, "--bootstrap-server", broker, *arguments, stdin=stdin)
    said = done.stdout + done.stderr
    assert done.returncode != 0 or "rror" in said or "xception" in said, said
    return said


def describe(broker: str, topic: str) -> str:
    return tool("kafka-topics", broker, "--describe", "--topic", topic)


def write(broker: str, topic: str, lines: str, *arguments: str) -> None:
    tool("kafka-console-producer", broker, "--topic", topic, *arguments, stdin=lines)


def read(broker: str, topic: str, count: int, *arguments: str) -> list[str]:
    """The lines that the console consumer prints for `count` records."""
    if not {"--offset", "--group"} & set(arguments):
        group = f"console-{uuid.uuid4().hex[:8]}"
        arguments = ("--from-beginning", "--group", group, *arguments)
    limits = ["--max-messages", str(count), "--timeout-ms", "20000"]
    said = tool("kafka-console-consumer", broker, "--topic", topic, *limits, *arguments)
    return said.splitlines()


def command_config(directory: Path, **settings: str) -> str:
    """A properties file for a tool's --command-config."""
    file = directory / "tool.properties"
    file.write_text("".join(f"{k.replace('_', '.')}={v}\n" for k, v in settings.items()))
    return str(file)


def numbers(text: str) -> list[int]:
    return [int(each) for each in re.findall(r"-?\d+", text)]
