"""Values of a JSON Schema: JSON that is valid by it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from jsonschema.validators import validator_for

from kafkapy.http.registry.languages.json_schema import reading
from kafkapy.http.registry.languages.source import Source, Unfit


class Values:
    """Of one schema."""

    def __init__(self, source: Source) -> None:
        document = reading.read(source)
        cls = validator_for(document.root, default=jsonschema.Draft7Validator)
        self._validator: Any = cls(document.root, registry=document.registry)

    def write(self, value: Any, message: str | None) -> bytes:
        if message is not None:
            raise Unfit("a JSON Schema has no messages to choose from")
        wrong = next(iter(self._validator.iter_errors(value)), None)
        if wrong is not None:
            where = "/".join(map(str, wrong.absolute_path))
            raise Unfit(f"at #/{where}: {wrong.message}"[:500])
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "surrogatepass"
        )

    def read(self, data: bytes) -> Any:
        """What is there, whether it is valid or not: it was its writer's to see to that."""
        try:
            return json.loads(data, parse_constant=str)
        except (ValueError, RecursionError) as why:
            raise Unfit(f"no JSON: {why}"[:200]) from None

    plain = read
