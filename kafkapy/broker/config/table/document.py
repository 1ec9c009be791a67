"""docs/CONFIG.md, written from the table of keys.

python -m kafkapy.broker.config.table.document            writes docs/CONFIG.md
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kafkapy.broker.config.client_metrics import ClientMetricsKeys
from kafkapy.broker.config.table.broker_keys import OWN, BrokerKeys
from kafkapy.broker.config.table.key import Dynamic, Key, NoDefault, Section
from kafkapy.broker.config.table.keys.group import GroupConfigKeys
from kafkapy.broker.config.table.keys.topic import TopicKeys
from kafkapy.broker.config.table.refusals import Kind, kind_of, refusal_of
from kafkapy.broker.config.table.values import to_text

PATH: Final = Path(__file__).parents[4] / "docs" / "CONFIG.md"

_HEAD: Final = """\
# Configuration

<!-- Written by `python -m kafkapy.broker.config.table.document`; do not edit. -->

kafkapy takes Apache Kafka's settings under Apache Kafka's names: {count} keys of a broker ({own}
of them, about HTTP, are its own), {topic} of a topic, {group} of a group and {metrics} of a client
metrics subscription. Put them into a `server.properties` (`kafkapy serve --config FILE`), or give
them one by one (`--set KEY=VALUE`).

- **Mistakes.** An unknown key is logged as a warning. A bad value stops the start; the message has
  the key, the value and what is allowed.
- **Precedence**, highest first: the topic's or group's own value, the broker's dynamic value, the
  dynamic value of all brokers, `server.properties`, the default.
- **Listeners.** `listener.name.<listener>.<key>` sets a key of one listener,
  `listener.name.<listener>.<mechanism>.<key>` one of a SASL mechanism there.
- **The column *alter*** says who can change a key of a running broker, with `kafka-configs` or any
  admin client: *cluster-wide* keys can be changed for one broker or for all, *per-broker* keys for
  one. The others need a restart. Keys of topics and groups can always be altered.
- **The column *effect*** says what becomes of a value:
  - *acts* ({acts} keys): kafkapy does what the key says.
  - *no effect* ({ignored} keys): accepted, so that a `server.properties` written for Apache Kafka
    starts, but nothing is done. The table says why nobody misses it.
  - *refused* ({refused} keys, and single values of others): the key promises what is not built, and
    somebody may rely on that. Any value but the default stops the start, and is refused for a
    running broker and for topics. The table and the error message say what to do instead.
"""


def document() -> str:
    """The whole page."""
    sections = (BrokerKeys, TopicKeys, GroupConfigKeys, ClientMetricsKeys)
    kinds = Counter(kind_of(key) for section in sections for key in _shown(section))
    head = _HEAD.format(
        count=len(_shown(BrokerKeys)),
        own=len(OWN),
        topic=len(_shown(TopicKeys)),
        group=len(_shown(GroupConfigKeys)),
        metrics=len(_shown(ClientMetricsKeys)),
        acts=kinds[Kind.ACTS],
        ignored=kinds[Kind.WITHOUT_EFFECT],
        refused=kinds[Kind.REFUSED],
    )
    parts = [head]
    for section in BrokerKeys.__bases__:
        parts.append("\n".join(_broker_part(section)))
    parts.append("\n".join(_part("Topics", "", TopicKeys, "broker's key")))
    parts.append("\n".join(_part("Groups", "", GroupConfigKeys, "broker's key")))
    parts.append("\n".join(_part("Client metrics subscriptions", "", ClientMetricsKeys, "")))
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _broker_part(section: type[Section]) -> Iterator[str]:
    about = (sys.modules[section.__module__].__doc__ or "").strip()
    name = re.sub(r"Keys$", "", section.__name__)
    yield from _part(f"Brokers: {_TITLES.get(name, name.lower())}", about, section, "alter")


_TITLES: Final = {
    "Group": "groups",
    "Hook": "hooks",
    "Http": "HTTP",
    "Log": "logs",
    "Remote": "tiered storage",
    "Sasl": "SASL",
    "Share": "share groups",
    "Tls": "TLS",
    "Transaction": "transactions",
}


def _part(title: str, about: str, section: type[Section], column: str) -> Iterator[str]:
    yield f"## {title}\n"
    if about:
        yield f"{about}\n"
    middle = f" {column} |" if column else ""
    yield f"| key | what it does | type | default | allowed |{middle} effect |"
    yield "|---|---|---|---|---|" + ("---|" if column else "") + "---|"
    for key in _shown(section):
        yield _row(key, column)


def _shown(section: type[Section]) -> list[Key[Any]]:
    return sorted(
        (key for key in section.table.values() if not key.is_internal), key=lambda key: key.name
    )


def _row(key: Key[Any], column: str) -> str:
    cells = [
        f"`{key.name}`",
        key.documentation,
        key.kind.name.lower(),
        _default(key),
        key.validator.allowed,
    ]
    if column == "alter":
        cells.append("" if key.dynamic is Dynamic.READ_ONLY else key.dynamic.value)
    elif column:
        cells.append(", ".join(f"`{name}`" for name in key.synonyms))
    cells.append(_effect(key))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _effect(key: Key[Any]) -> str:
    kind, refusal = kind_of(key), refusal_of(key.name)
    if refusal is not None:
        told = f"{refusal.why} {refusal.instead}"
        if kind is Kind.ACTS:
            return f"acts; *refused:* {refusal.only}. {told}"
        return f"*refused:* {told}"
    return "acts" if kind is Kind.ACTS else f"no effect: {key.note}"


def _default(key: Key[Any]) -> str:
    if isinstance(key.default, NoDefault):
        return "(must be set)"
    text = to_text(key.default_value)
    if text is None:
        return ""
    return f"`{text}`" if text else '`""`'


if __name__ == "__main__":
    PATH.write_text(document(), encoding="utf-8")
