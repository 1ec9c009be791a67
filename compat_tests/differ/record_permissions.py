"""What Apache Kafka answers to everybody with a single permission, kept for the unit tests:

python -m compat_tests.differ.record_permissions
"""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from compat_tests import targets
from compat_tests.differ import permissions, token_permissions

_RECORDED: Final = Path(__file__).parent.parent.parent / "tests/fixtures/permissions"


def all_answers(address: str) -> dict[str, dict[str, Any]]:
    """By grant and request, of a server that nobody has used."""
    permissions.begin(address)
    return {
        str(grant): dict(permissions.walk(address, grant, f"walk{number}"))
        for number, grant in enumerate(permissions.GRANTS)
    }


class Walk(NamedTuple):
    file: Path
    properties: Mapping[str, str]
    answers: Callable[[str], dict[str, dict[str, Any]]]

    def recorded(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = json.loads(self.file.read_text())
        return found

    def record(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            server = targets.server(targets.APACHE, Path(scratch), self.properties)
            try:
                server.start()
                found = permissions.packed(self.answers(server.bootstrap))
            finally:
                server.stop()
        lines = [f"  {json.dumps(what)}: {json.dumps(rows)}" for what, rows in found.items()]
        self.file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{self.file}: {len(found)} requests")


EVERY_API: Final = Walk(_RECORDED / "apache_4_3_1.json", permissions.PROPERTIES, all_answers)
TOKENS: Final = Walk(
    _RECORDED / "tokens_apache_4_3_1.json",
    token_permissions.PROPERTIES,
    token_permissions.all_answers,
)
WALKS: Final = {"every-api": EVERY_API, "tokens": TOKENS}


def main() -> None:
    for walk in WALKS.values():
        walk.record()


if __name__ == "__main__":
    main()
