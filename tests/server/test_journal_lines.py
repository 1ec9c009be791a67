"""A line of the journal is a line, whatever somebody calls itself."""

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

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


class FullDisk(io.StringIO):
    is_full = False

    def flush(self) -> None:
        if self.is_full:
            self.seek(0)
            self.truncate()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_log_that_cannot_be_written_stops_nobody_and_is_told_later() -> None:
    out = FullDisk()
    journal = Lines(out)
    out.is_full = True
    journal.error("log directory offline")
    journal.error("metadata log failed")
    out.is_full = False
    journal.info("stopped cleanly")
    journal.info("and went on")
    first, second, third = out.getvalue().splitlines()
    assert "log could not be written" in first
    assert first.endswith("events=2")
    assert "stopped cleanly" in second
    assert "and went on" in third


_LOGGING = """
import resource
from kafkapy.server.journal import Lines
journal = Lines()
journal.info("there is room")
resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
for _ in range(10_000):
    journal.info("there is none", why="x" * 1000)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.info("there is again")
"""


def test_a_process_whose_log_is_on_a_full_disk_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    with path.open("wb") as log:
        subprocess.run([sys.executable, "-c", _LOGGING], stderr=log, check=True)
    told = path.read_text()
    assert "there is room" in told
    assert "events=10000" in told
    assert "there is again" in told
    assert len(told) < 100_000, "what could not be written was not kept for later"
