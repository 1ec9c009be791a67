"""The scenarios as tests of one client: `group_tests(kinds...)`."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.behaviours import mark
from compat_tests.installation import Unavailable
from compat_tests.members.process import Kind
from compat_tests.members.scenarios import SCENARIOS, Scenario, server_restart
from compat_tests.members.world import GroupWorld
from compat_tests.targets import Server

Test = Callable[..., None]

# The one that every run of the tests plays; the others take longer.
_QUICK = "scale"


def group_tests(*kinds: Kind) -> tuple[Test, Test]:
    @pytest.mark.parametrize(("kind", "scenario"), _rows(kinds))
    def test_what_happens_to_a_group(
        broker: str,
        is_disturbed: bool,
        topic: str,
        group: str,
        tmp_path: Path,
        kind: Kind,
        scenario: Scenario,
    ) -> None:
        def play(world: GroupWorld) -> None:
            world.is_disturbed = is_disturbed
            scenario.play(world)

        with_world(broker, kind, topic, group, tmp_path, play)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in kinds])
    @pytest.mark.parametrize(
        "how",
        [
            pytest.param(signal.SIGTERM, id="clean", marks=mark("group-restart")),
            pytest.param(signal.SIGKILL, id="killed", marks=mark("group-restart")),
        ],
    )
    def test_the_server_restarts(
        own_server: Callable[..., Server],
        topic: str,
        group: str,
        tmp_path: Path,
        kind: Kind,
        how: signal.Signals,
    ) -> None:
        server = own_server()

        def play(world: GroupWorld) -> None:
            server_restart(world, server, how)

        with_world(server.bootstrap, kind, topic, group, tmp_path, play)

    return test_what_happens_to_a_group, test_the_server_restarts


def with_world(
    broker: str,
    kind: Kind,
    topic: str,
    group: str,
    directory: Path,
    play: Callable[[GroupWorld], None],
) -> None:
    try:
        kind.command()
    except Unavailable as reason:
        pytest.skip(str(reason))
    world = GroupWorld(broker, kind, topic, group, directory)
    try:
        play(world)
    finally:
        world.end()


def _rows(kinds: tuple[Kind, ...]) -> list[object]:
    return [
        pytest.param(
            kind,
            scenario,
            id=f"{kind.name}-{name}",
            marks=[mark(scenario.behaviour), *([] if name == _QUICK else [pytest.mark.slow])],
        )
        for kind in kinds
        for name, scenario in SCENARIOS.items()
        if (kind.is_cooperative or not scenario.needs_cooperation)
        and (kind.returns or not scenario.needs_return)
    ]
