"""kafkapy.testing.containers, under the engine, with the image of these sources."""

from collections.abc import Iterator

import pytest

from container_tests.test_compose import goes_round

testcontainers = pytest.importorskip("testcontainers", reason="the extra `containers`")


@pytest.fixture(autouse=True)
def no_reaper(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an image of its own, from a registry."""
    from testcontainers.core.config import testcontainers_config

    monkeypatch.setattr(testcontainers_config, "ryuk_disabled", True)


@pytest.fixture
def network() -> Iterator[object]:
    from testcontainers.core.network import Network

    with Network() as made:
        yield made


def test_a_broker_serves_this_process_and_its_network(image: str, network: object) -> None:
    from testcontainers.core.container import DockerContainer

    from kafkapy.testing.containers import KafkapyContainer

    with (
        KafkapyContainer(image)
        .with_env("KAFKAPY_NUM_PARTITIONS", "3")
        .with_network(network) as kafka
    ):
        goes_round(kafka.get_bootstrap_server(), "from-here")
        servers = kafka.get_inside_bootstrap_server()
        client = DockerContainer(image).with_network(network)
        client.with_command(["sleep", "60"])
        with client:
            told = client.exec(
                ["kafkapy", "topics", "list", "--json", "--bootstrap-server", servers]
            )
    assert told.exit_code == 0, told.output
    assert b'"from-here"' in told.output
    assert b'"partitions": 3' in told.output


def test_a_broker_that_cannot_serve_says_why(image: str) -> None:
    from kafkapy.testing.containers import CannotServe, KafkapyContainer

    broken = KafkapyContainer(image).with_env("KAFKAPY_NUM_PARTITIONS", "many")
    with pytest.raises(CannotServe, match="many"):
        broken.start(timeout_seconds=5)
