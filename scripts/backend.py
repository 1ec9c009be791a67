"""How kafkapy is built: setuptools, with what compiling needs where KAFKAPY_COMPILE asks
for it (docs/decisions/0006-compiled-request-paths.md). setup.py does the compiling.

pip and build ask the functions below by name (PEP 517); all others are setuptools' own.
"""

import os
import tomllib
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403  # a backend is a module with its functions

Settings = dict[str, str | list[str] | None] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return build_meta.get_requires_for_build_wheel(config_settings) + _for_compiling()


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return build_meta.get_requires_for_build_editable(config_settings) + _for_compiling()


def _for_compiling() -> list[str]:
    if os.environ.get("KAFKAPY_COMPILE") not in ("1", "world"):
        return []
    needs: list[str] = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["kafkapy"][
        "compile-requires"
    ]
    return needs
