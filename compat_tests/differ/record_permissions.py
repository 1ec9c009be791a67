"""What Apache Kafka answers to everybody with a single permission, kept for the unit tests:

python -m compat_tests.differ.record_permissions
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from compat_tests import targets
from compat_tests.differ import permissions

RECORDED = Path(__file__).parent.parent.parent / "tests/fixtures/permissions/apache_4_3_1.json"


def all_answers(address: str) -> dict[str, dict[str, Any]]:
    """By grant and request, of a server that nobody has used."""
    permissions.begin(address)
    return {
        str(grant): dict(permissions.walk(address, grant, f"walk{number}"))
        for number, grant in enumerate(permissions.GRANTS)
    }


def recorded() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(RECORDED.read_text())
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        server = targets.server(targets.APACHE, Path(scratch), permissions.PROPERTIES)
        try:
            server.start()
            found = permissions.packed(all_answers(server.bootstrap))
        finally:
            server.stop()
    lines = [f"  {json.dumps(what)}: {json.dumps(rows)}" for what, rows in found.items()]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{RECORDED}: {len(found)} requests")


if __name__ == "__main__":
    main()
