"""kio's tables of schemas, imported in the one way that costs what it should.

Where hypothesis is installed, kio registers strategies for its types while it is imported:
that takes seconds and leaves a directory `.hypothesis` wherever a process happened to start.
A broker in somebody's test run is exactly there, so kio is told that there is no hypothesis.
"""

import sys
from types import ModuleType
from typing import Final

_OPTIONAL: Final = "hypothesis"


def _import_kio_types() -> None:
    present = sys.modules.get(_OPTIONAL)
    # None is how Python marks a module as not importable.
    sys.modules[_OPTIONAL] = None  # type: ignore[assignment]  # typeshed leaves None out
    try:
        import kio.static._phantom  # noqa: F401  # for what it looks at when it is imported
    finally:
        _put_back(present)


def _put_back(module: ModuleType | None) -> None:
    if module is None:
        del sys.modules[_OPTIONAL]
    else:
        sys.modules[_OPTIONAL] = module


_import_kio_types()

from kio.index import load_request_schema, load_response_schema  # noqa: E402  # after the above
from kio.schema.index import api_key_map, schema_name_map  # noqa: E402  # likewise
from kio.static.constants import EntityType  # noqa: E402

__all__ = [
    "EntityType",
    "api_key_map",
    "load_request_schema",
    "load_response_schema",
    "schema_name_map",
]
