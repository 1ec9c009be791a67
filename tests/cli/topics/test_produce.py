"""`kafkapy produce`: when lines are written, and what is said of those that are not."""

import io
import os
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from kafkapy.cli.main import main
from kafkapy.testing import Broker


@pytest.fixture
def kafka() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("orders")
        yield broker


def produce(kafka: Broker, *arguments: str) -> int:
    return main(["produce", "orders", *arguments, "--bootstrap-server", kafka.bootstrap])


def given(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))


def values(kafka: Broker) -> list[bytes | None]:
    return [one.value for one in kafka.records("orders")]


def test_a_line_is_written_when_no_other_comes(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for somebody who types, or a log that is followed: the input is still open, and what
    ends the command then takes nothing with it."""
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as ours, os.fdopen(writes, "wb", buffering=0) as theirs:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=ours))
        command = threading.Thread(target=produce, args=(kafka,))
        command.start()
        try:
            theirs.write(b"one\ntw")
            assert [one.value for one in kafka.wait_for("orders", 1)] == [b"one"]
            theirs.write(b"o\nthree")
            assert [one.value for one in kafka.wait_for("orders", 2)] == [b"one", b"two"]
        finally:
            theirs.close()
            command.join()
    assert values(kafka) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("length", [1, 2, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1])
def test_lines_are_told_apart_wherever_a_read_ends(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    lines = [b"x" * length, b"", b"y" * length, b"z"]
    given(monkeypatch, b"\r\n".join(lines))
    assert produce(kafka) == 0
    assert values(kafka) == lines


def test_lines_before_one_that_is_no_record_are_written(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    given(monkeypatch, b'{"value": "1"}\n{"value": "2"}\n?\n{"value": "4"}\n')
    assert produce(kafka, "--format", "json") == 1
    said = capfd.readouterr().err
    assert said.startswith("kafkapy: line 3 is not a JSON record")
    assert said.endswith("(lines written: 2)\n")
    assert values(kafka) == [b"1", b"2"]


def test_lines_before_one_that_is_too_large_are_written(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    given(monkeypatch, b"1\n2\n" + b"x" * 2_000_000 + b"\n4\n")
    assert produce(kafka) == 1
    assert "MESSAGE_TOO_LARGE" in (said := capfd.readouterr().err)
    assert said.endswith("(lines written: 2)\n")
    assert values(kafka) == [b"1", b"2"]


def test_a_batch_that_failed_may_have_been_written_in_part(
    kafka: Broker, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    kafka.faults.on("Produce").disconnect().on_call(2)
    given(monkeypatch, b"x\n" * 1500)
    assert produce(kafka) == 1
    said = capfd.readouterr().err
    assert said.endswith("(lines written: 1000, and perhaps some of the next 500)\n")
    assert len(values(kafka)) == 1000
