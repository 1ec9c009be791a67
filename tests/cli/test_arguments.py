"""What argparse refuses for the tools, before a broker is asked."""

import pytest

from kafkapy.cli.main import main


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
    ],
)
def test_what_kafka_has_no_room_for_is_a_usage_error(
    arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert ": error: argument" in capfd.readouterr().err
