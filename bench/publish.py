"""The committed results: one set for a release, whole, and of one commit.

Every version of a file stays in the history, so bench/results/ is replaced when there is a
release and at no other time: `make bench` fills .bench/, `make bench-publish` copies it here.
"""

import shutil
from pathlib import Path

from bench.report import KEPT, PUBLISHED, Results
from bench.rows import FAMILIES


class Refused(Exception):
    """Why what was measured is no set of a release."""


def publish(kept: Path = KEPT, published: Path = PUBLISHED) -> None:
    """The last whole run, and the last soak if there was one."""
    measured = Results("bench", kept)
    if (why := _why_not(measured)) is not None:
        raise Refused(why)
    release = Results("bench", published)
    release.rows, release.machine = measured.rows, measured.machine
    release.save()
    release.render(is_release=True)
    if (kept / "soak.md").exists():
        shutil.copy(kept / "soak.md", published)


def _why_not(measured: Results) -> str | None:
    expected = [row.id for rows in FAMILIES.values() for row in rows]
    if missing := [row for row in expected if row not in measured.rows]:
        return f"no run of {', '.join(missing)}"
    if failed := [row for row in expected if measured.rows[row]["failures"]]:
        return f"there are failures in {', '.join(failed)}"
    revisions = sorted({measured.rows[row]["revision"] for row in expected})
    if len(revisions) > 1 or "with changes" in revisions[0]:
        return f"rows are of {', '.join(revisions)}: measure one commit (--revision)"
    return None
