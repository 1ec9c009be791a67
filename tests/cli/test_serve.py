"""What `kafkapy serve` refuses before it opens anything."""

from pathlib import Path

import pytest

from kafkapy.cli.main import main


def test_a_configuration_that_is_no_text_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "server.properties"
    config.write_bytes(b"\xff\xfe\x00")
    for command in ("serve", "format"):
        assert main([command, "--config", str(config)]) == 1
        told = capfd.readouterr().err
        assert "not a text file in UTF-8" in told
        assert told.count("\n") == 1


def test_data_is_one_directory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Kafka separates log.dirs by commas: the second would be where we happen to stand."""
    assert main(["serve", "--listen", "127.0.0.1:0", "--data", f"{tmp_path}/a,b"]) == 1
    assert "--set log.dirs=A,B" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_address_of_another_machine_is_not_said_to_be_in_use(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    assert main(["serve", "--listen", "192.0.2.1:9092", "--data", str(data)]) == 1
    told = capfd.readouterr().err
    assert "choose an address of this machine" in told
    assert "stop what uses it" not in told
    assert not data.exists()
