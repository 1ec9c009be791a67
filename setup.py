"""Builds kafkapy with its request paths compiled, where KAFKAPY_COMPILE=1 asks for it.

The modules are named in pyproject.toml; mypyc makes C of them, so a C compiler is needed.
Without the variable nothing is compiled, and everything works the same, more slowly
(docs/decisions/0006-compiled-request-paths.md).
"""

import os
import tomllib
from pathlib import Path

from setuptools import setup

_PROJECT = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["kafkapy"]

# A build sees none of kafkapy's dependencies; `make check` has looked at what is done with them.
_MYPY = ("--config-file=", "--ignore-missing-imports")


def _compiled() -> dict[str, object]:
    if os.environ.get("KAFKAPY_COMPILE") != "1":
        return {}
    try:
        from mypyc.build import mypycify
    except ImportError:
        # pip asks what a build needs before it builds.
        return {"setup_requires": _PROJECT["compile-requires"]}
    modules = [f"{module.replace('.', '/')}.py" for module in _PROJECT["compiled"]]
    return {"ext_modules": mypycify([*_MYPY, *modules], opt_level="3", debug_level="0")}


setup(**_compiled())
