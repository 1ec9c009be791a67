"""A process in which schemas are read and compared: `python -m kafkapy.http.registry.worker`.

Questions come on standard input and answers leave on standard output, each a line of JSON, one at
a time. A schema that takes too long or too much costs this process: who asked ends it, and
starts another (workers.py). It may use so much memory and no more.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import sys
from typing import Any

from kafkapy.http.registry.configs import Level
from kafkapy.http.registry.entities import SchemaType
from kafkapy.http.registry.evaluation import (
    Rules,
    canonical,
    fields,
    formatted,
    incompatibilities,
    read,
    readable,
    written,
)
from kafkapy.http.registry.languages.source import Import, InvalidSchema, Source, Unfit

#: Address space, of which libraries and threads' stacks take some 300 MB before anything is read.
MEMORY_LIMIT = 1 << 30


def source_to_json(source: Source) -> list[Any]:
    return [str(source.type), source.text, [list(each) for each in source.imports]]


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """What a question's answer is, or why it has none."""
    try:
        source = _source(asked["source"])
        match asked["ask"]:
            case "canonical":
                is_normalized, is_strict = asked["normalize"], asked["strict"]
                return {"is": canonical(source, is_normalized=is_normalized, is_strict=is_strict)}
            case "fields":
                return {"is": fields(source)}
            case "formatted":
                return {"is": formatted(source, asked["format"])}
            case "incompatibilities":
                rules = Rules(Level(asked["level"]), asked["lenient"])
                olds = [_source(each) for each in asked["olds"]]
                return {"is": incompatibilities(source, olds, rules)}
            case "readable":
                values = [base64.b64decode(each) for each in asked["values"]]
                return {"is": readable(source, values, asked["most"], is_pretty=asked["pretty"])}
            case "written":
                made = written(source, asked["values"], asked["message"])
                return {"is": [_told(each) for each in made]}
            case "read":
                found = read(source, [base64.b64decode(each) for each in asked["datas"]])
                return {"is": [_told(each) for each in found]}
            case other:
                raise AssertionError(other)
    except InvalidSchema as why:
        return {"invalid": str(why)}
    except (RecursionError, MemoryError):
        return {"invalid": "too deep or too large"}


def _told(each: Any) -> dict[str, Any]:
    if isinstance(each, Unfit):
        return {"invalid": str(each)}
    return {"is": base64.b64encode(each).decode() if isinstance(each, bytes) else each}


def _source(said: list[Any]) -> Source:
    kind, text, imports = said
    return Source(SchemaType(kind), text, tuple(Import(*each) for each in imports))


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Less urgent than the node that asked.
    os.nice(5)
    for line in sys.stdin:
        said = json.dumps(answer(json.loads(line)))
        sys.stdout.write(said + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
