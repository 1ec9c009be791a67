"""What pyproject.toml cannot say, because whoever builds does.

KAFKAPY_COMPILE=1        the request paths are compiled. The modules are named in
                         pyproject.toml; mypyc makes C of them, so a C compiler is needed.
                         Without it nothing is compiled, and everything works the same, more
                         slowly (docs/decisions/0006-compiled-request-paths.md).
KAFKAPY_COMPILE=world    the same, and simulated machines and their network: for many worlds.
KAFKAPY_PROJECT_URL=URL  where the project is published: the links of the package's metadata.
                         The sources know no address of their own.
"""

import os
import sys
import tomllib
from pathlib import Path
from typing import Any

from setuptools import setup

_PROJECT = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["kafkapy"]

_BUILDS = {"bdist_wheel", "editable_wheel", "build_ext"}
# A build sees none of kafkapy's dependencies; `make check` has looked at what is done with them.
_MYPY = ("--config-file=", "--ignore-missing-imports")


def _compiled() -> dict[str, Any]:
    # Who only asks for the metadata or packs the sources needs no compiler.
    wanted = os.environ.get("KAFKAPY_COMPILE")
    if wanted not in ("1", "world") or _BUILDS.isdisjoint(sys.argv):
        return {}
    from mypyc.build import mypycify

    names = _PROJECT["compiled"] + (_PROJECT["compiled-world"] if wanted == "world" else [])
    modules = [f"{name.replace('.', '/')}.py" for name in names]
    return {"ext_modules": mypycify([*_MYPY, *modules], opt_level="3", debug_level="0")}


def _addressed() -> dict[str, Any]:
    url = os.environ.get("KAFKAPY_PROJECT_URL", "").rstrip("/")
    if not url:
        return {}
    pages = {"Documentation": "README.md", "Changelog": "CHANGELOG.md"}
    links = {name: f"{url}/blob/HEAD/{page}" for name, page in pages.items()}
    return {"project_urls": {"Homepage": url, **links}}


setup(**_compiled(), **_addressed())
