"""docs/CONFIG.md tells which keys do something. This test holds it to the truth.

A key is acted on if some module reads it: as an attribute (`config.num_partitions`), by
its name as a string, or as a field of LogConfig, through which a topic's settings act.
"""

import ast
from dataclasses import fields
from functools import cache
from pathlib import Path

import kafkapy
from kafkapy.broker.config.group_config import BOUNDS
from kafkapy.broker.config.keys.group import GroupConfigKeys
from kafkapy.broker.config.keys.topic import TopicKeys
from kafkapy.broker.config.shared_values import NOT_YET
from kafkapy.broker.config.table import BrokerKeys
from kafkapy.log.config import LogConfig

_ROOT = Path(kafkapy.__file__).parent
_TABLE = _ROOT / "broker" / "config" / "keys"
# What these say is about the names, not what they do.
_ABOUT_NAMES = {
    _ROOT / "broker" / "config" / name
    for name in ("broker_alter.py", "group_config.py", "combinations.py")
}


@cache
def _mentioned() -> frozenset[str]:
    """Every attribute read and every string said, outside of the table itself."""
    found: set[str] = set()
    for path in _ROOT.rglob("*.py"):
        if path.is_relative_to(_TABLE) or path in _ABOUT_NAMES:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return frozenset(found)


def _read_keys() -> set[str]:
    fields_of_log = {field.name for field in fields(LogConfig)}
    acting = {
        name
        for name, key in TopicKeys.table.items()
        if key.attribute in fields_of_log or name in _mentioned()
    }
    behind_topics = {one for name in acting for one in TopicKeys.table[name].synonyms}
    behind_groups = {
        one
        for name, key in GroupConfigKeys.table.items()
        if name in _mentioned() and key.acted_on
        for one in key.synonyms
    }
    broker = {
        name
        for name, key in BrokerKeys.table.items()
        if name in _mentioned() or key.attribute in _mentioned()
    }
    # group/settings.py puts the names of consumers' keys together.
    group = {
        name
        for name in GroupConfigKeys.table
        if name in _mentioned()
        or (name.startswith("consumer.") and name.removeprefix("consumer.") in _mentioned())
    }
    bounds = {one for pair in BOUNDS.values() for one in pair if one is not None}
    return acting | behind_topics | behind_groups | broker | group | bounds


def _all_keys() -> dict[str, bool]:
    return {
        name: key.acted_on
        for section in (BrokerKeys, TopicKeys, GroupConfigKeys)
        for name, key in section.table.items()
    }


def test_a_key_that_is_acted_on_is_read_somewhere() -> None:
    unread = {name for name, acted_on in _all_keys().items() if acted_on} - _read_keys()
    assert not unread, f"mark these rows of broker/config/keys ignored=NOT_YET: {sorted(unread)}"


def test_a_key_that_is_read_somewhere_is_not_marked_as_not_yet() -> None:
    waiting = {
        name
        for section in (BrokerKeys, TopicKeys, GroupConfigKeys)
        for name, key in section.table.items()
        if key.note == NOT_YET
    }
    now_read = waiting & _read_keys()
    assert not now_read, (
        "take ignored=NOT_YET off these rows of broker/config/keys, then write docs/CONFIG.md "
        f"anew (python -m kafkapy.broker.config.document): {sorted(now_read)}"
    )
