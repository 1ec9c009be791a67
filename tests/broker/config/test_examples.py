"""The examples of settings are good ones."""

from pathlib import Path

import pytest

from kafkapy.broker.config.broker_config import BrokerConfig

_EXAMPLES = sorted((Path(__file__).parents[3] / "examples").rglob("*.properties"))


@pytest.mark.parametrize("path", _EXAMPLES, ids=lambda path: path.parent.name)
def test_an_example_is_read_and_knows_its_keys(path: Path) -> None:
    config = BrokerConfig.from_text(path.read_text(encoding="utf-8"))
    assert config.unknown == ()
