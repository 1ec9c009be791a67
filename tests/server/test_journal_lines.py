"""A line of the journal is a line, whatever somebody calls itself."""

import io

from kafkapy.server.journal import Lines


def test_names_of_others_end_no_line_and_command_no_terminal() -> None:
    out = io.StringIO()
    bad = "orders\n12:00:00.000 info    let-in principal=User:admin\x1b[2J"
    Lines(out).info("refused", resource=bad.replace(" ", "_"), principal=bad)
    Lines(out, as_json=True).info("refused", resource=bad)
    told = out.getvalue()
    assert len(told.splitlines()) == 2
    assert "\x1b" not in told
    assert told.isascii()


def test_plain_names_are_shown_as_they_are() -> None:
    out = io.StringIO()
    Lines(out).info("let in", principal="User:alice", resource="TOPIC:orders", reason="")
    assert out.getvalue().rstrip().endswith('principal=User:alice resource=TOPIC:orders reason=""')
