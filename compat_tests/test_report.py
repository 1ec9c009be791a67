"""docs/COMPAT.md takes up what was run, and keeps what was not."""

from compat_tests.behaviours import BEHAVIOURS
from compat_tests.report import Outcomes, with_row
from compat_tests.targets import APACHE, KAFKAPY

TITLE = BEHAVIOURS["share-groups"].title
PAGE = f"""# What works

| behaviour | confluent-kafka (librdkafka) | franz-go | sarama |
|---|---|---|---|
| {BEHAVIOURS["group-scale"].title} | yes / yes | - / yes |  |
| {TITLE} |  | - / not done | yes / yes |
"""


def test_a_behaviour_that_was_run_alone_has_its_cells_written_and_no_others() -> None:
    outcomes: Outcomes = {
        ("confluent_kafka", KAFKAPY): {"share-groups": ["passed", "failed"], "codecs": ["passed"]},
        ("franz_go", APACHE): {"share-groups": ["passed"]},
        ("franz_go", KAFKAPY): {"share-groups": ["passed", "passed"]},
        ("sarama", KAFKAPY): {"codecs": ["passed"]},
    }
    before, after = PAGE.splitlines(), with_row(PAGE, outcomes, "share-groups").splitlines()
    assert after[:-1] == before[:-1]
    assert after[-1] == f"| {TITLE} | - / **no** | yes / yes | yes / yes |"


def test_a_new_behaviour_gets_a_row_in_its_place_and_its_clients_columns() -> None:
    title = BEHAVIOURS["group-upgrade"].title
    outcomes: Outcomes = {("aiokafka", KAFKAPY): {"group-upgrade": ["passed"]}}
    after = with_row(PAGE, outcomes, "group-upgrade").splitlines()
    head = "| behaviour | confluent-kafka (librdkafka) | aiokafka | franz-go | sarama |"
    assert after[2] == head
    assert after[4] == f"| {title} |  | - / yes |  |  |"
    assert after[5:] == [
        f"| {BEHAVIOURS['group-scale'].title} | yes / yes |  | - / yes |  |",
        f"| {TITLE} |  |  | - / not done | yes / yes |",
    ]
