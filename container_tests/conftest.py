"""Everything here needs a Docker engine, and says so where there is none."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from container_tests.engine import ROOT, Compose, build_image, docker, free_ports, why_not

MakeCompose = Callable[..., Compose]


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def image(engine: None) -> str:
    return build_image()


@pytest.fixture
def compose(image: str) -> Iterator[MakeCompose]:
    """compose(file, NAME=value...): brought down after the test, with its logs if it failed."""
    made: list[Compose] = []

    def make(file: Path, **variables: str) -> Compose:
        name = f"kafkapy-{os.getpid()}-{len(made)}"
        told = {"IMAGE": image, "KAFKAPY_IMAGE": image, **variables}
        one = Compose(name, [ROOT / file], told)
        made.append(one)
        return one

    yield make
    for one in made:
        print(one("logs", "--no-color", "--tail", "30"))
        one.down()


@pytest.fixture
def run(image: str) -> Iterator[Callable[..., str]]:
    """run(arguments of `docker run`..., then=command): a container's id; removed after the test."""
    made: list[str] = []

    def start(*arguments: str, then: tuple[str, ...] = ()) -> str:
        made.append(docker("run", "--detach", *arguments, image, *then))
        return made[-1]

    yield start
    for one in made:
        docker("rm", "--force", "--volumes", one)


@pytest.fixture
def ports() -> list[int]:
    return free_ports(3)
