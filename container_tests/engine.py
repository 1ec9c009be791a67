"""`docker` and `docker compose`, as a person types them."""

import json
import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
IMAGE: Final = os.environ.get("KAFKAPY_IMAGE", "kafkapy-under-test")
_PATIENCE_S: Final = 300
# It compiles kafkapy: a minute and a half on two cores that have nothing else to do.
_BUILD_PATIENCE_S: Final = 1800


class DockerFailed(Exception):
    """A command's own words."""


def why_not() -> str | None:
    """What keeps these tests from running; None if nothing does."""
    try:
        done = subprocess.run(["docker", "info"], capture_output=True, timeout=30, check=False)
    except OSError as failed:
        return f"no docker here: {failed.strerror}"
    return None if done.returncode == 0 else "no Docker engine answers (`docker info`)"


def docker(
    *arguments: str, variables: Mapping[str, str] | None = None, timeout_s: int = _PATIENCE_S
) -> str:
    """What it printed; DockerFailed with what it complained of."""
    done = subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, timeout=timeout_s, check=False,
        cwd=ROOT, env={**os.environ, **(variables or {})},
    )  # fmt: skip
    if done.returncode:
        raise DockerFailed(f"docker {' '.join(arguments)}: {done.stderr or done.stdout}")
    return done.stdout.strip()


def build_image() -> str:
    """Of these sources; quick if nothing has changed. $KAFKAPY_IMAGE names one that is there."""
    if "KAFKAPY_IMAGE" not in os.environ:
        build = ("build", "--quiet", "--file", "docker/Dockerfile", "--tag", IMAGE, ".")
        docker(*build, timeout_s=_BUILD_PATIENCE_S)
    return IMAGE


def inspect(container: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(docker("inspect", container))[0]
    return found


def free_ports(count: int) -> list[int]:
    """Of 127.0.0.1; free a moment ago."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Compose:
    """A project of its own name; `down` removes it with its volumes."""

    def __init__(self, project: str, files: Sequence[Path], variables: Mapping[str, str]) -> None:
        self.project = project
        self._files = [part for file in files for part in ("--file", str(file))]
        self._variables = dict(variables)

    def __call__(self, *arguments: str, **changed: str) -> str:
        command = ("compose", "--project-name", self.project, *self._files, *arguments)
        return docker(*command, variables={**self._variables, **changed})

    def container(self, service: str) -> str:
        return self("ps", "--all", "--quiet", service)

    def down(self) -> None:
        self("down", "--volumes", "--remove-orphans", "--timeout", "1")
