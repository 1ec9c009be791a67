"""What was measured is told at the end of the run."""

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for reports in terminalreporter.stats.values():
        for one in reports:
            if getattr(one, "when", "") == "call":
                for name, told in one.user_properties:
                    if name == "fail-over":
                        terminalreporter.write_line(told)
