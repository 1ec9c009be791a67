"""docs/CONFIG.md says what the table says."""

import pytest

from kafkapy.broker.config.table.broker_keys import BrokerKeys
from kafkapy.broker.config.table.document import PATH, document


@pytest.mark.interpreted
def test_the_page_is_up_to_date() -> None:
    written = PATH.read_text(encoding="utf-8")
    assert written == document(), "run python -m kafkapy.broker.config.table.document"


def test_every_key_has_a_row_and_internal_ones_have_none() -> None:
    page = document()
    for name, key in BrokerKeys.table.items():
        assert (f"| `{name}` |" in page) is not key.is_internal, name
