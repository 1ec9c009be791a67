"""A value of a JSON Schema says itself what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kafkapy.http.registry.languages.source import Source, Unfit


def reader(source: Source) -> Callable[[bytes], Any]:
    return _said


def _said(value: bytes) -> Any:
    try:
        return json.loads(value)
    except ValueError as why:
        raise Unfit(str(why)) from None
