"""A line of the journal is a line, whatever somebody calls itself."""

import io

from kafkapy.server.journal import MOST_KEPT, MOST_SAID, Lines, Remembering


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


def test_a_name_of_any_length_makes_no_line_of_any_length() -> None:
    out = io.StringIO()
    for as_json in (False, True):
        Lines(out, as_json=as_json).info("topic created", client="x" * 1_000_000 + "end", count=5)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) < MOST_SAID + 200
    assert all("xend" in one for one in lines)


def test_the_last_events_are_remembered_as_text_and_said_all_the_same() -> None:
    out = io.StringIO()
    journal = Remembering(Lines(out, level="warning"), most=2)
    for event in ("first", "second"):
        journal.info(event, count=1)
    journal.error("third", trace="x" * MOST_KEPT + "the end", thing=object)
    kept = list(journal.recent)
    assert [(one.level, one.event) for one in kept] == [("info", "second"), ("error", "third")]
    assert kept[0].facts == {"count": "1"}
    assert len(kept[1].facts["trace"]) == MOST_KEPT
    assert kept[1].facts["trace"].endswith("the end")
    assert "third" in out.getvalue()
    assert "second" not in out.getvalue(), "not at the level that is said"
