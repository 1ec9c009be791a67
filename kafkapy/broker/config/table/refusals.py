"""Settings that are refused because what they promise is not built: THE place to lift one.

    server.properties      --> BrokerConfig            the node does not start
    kafka-configs, brokers --> check_broker_change     INVALID_REQUEST, as for any bad value
    kafka-configs, topics  --> BrokerConfigRules       INVALID_CONFIG
    CreateTopics           --> BrokerConfigRules       INVALID_CONFIG

A broker that takes a setting says that it will act on it. Where somebody relies on that for
safety, for access or for a bound, taking the setting and doing nothing is worse than not
starting. Whoever builds a feature deletes its entry below; nothing else is told of it, and
tests/broker/config/table/test_acted_on.py then asks that the keys be read. Keys whose lack nobody
would notice are not here: their rows say `ignored=` and why.

A value equal to the default is never refused, nor is one that a metadata log brings along.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from kafkapy.broker.config.altering.synonyms import base_name
from kafkapy.broker.config.table.key import Key, Section, Value
from kafkapy.broker.config.table.shared_values import RACK_AWARE_SELECTOR
from kafkapy.broker.config.table.values import ConfigError, parse
from kafkapy.core.data import dataclass

if TYPE_CHECKING:
    from kafkapy.broker.config.broker_config import BrokerConfig


def _is_not_default(config: "BrokerConfig", key: Key[Any], value: Value) -> bool:
    return value != key.default_value


@dataclass(frozen=True, slots=True)
class Refusal:
    """`why` says what is missing and what would happen, `instead` what to do. `only` names
    the values that are refused, found by `refuses`; without it the key as a whole is."""

    keys: tuple[str, ...]
    why: str
    instead: str
    only: str = ""
    refuses: "Callable[[BrokerConfig, Key[Any], Value], bool]" = _is_not_default


class Kind(Enum):
    """What becomes of a value. Of a key that acts, some values may be refused all the same."""

    ACTS = "acts"
    WITHOUT_EFFECT = "without effect"
    REFUSED = "refused"


def _has_names(value: Value) -> bool:
    """Among what is written as address:count."""
    for part in str(value).split(","):
        host = part.strip().rpartition(":")[0].strip("[]")
        try:
            if part.strip():
                ip_address(host)
        except ValueError:
            return True
    return False


STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

REFUSALS: Final = (
    Refusal(
        ("authorizer.class.name",),
        "kafkapy loads no Java classes: nobody would be asked, and everybody may do everything.",
        f"Name {STANDARD_AUTHORIZER}, or leave it out.",
        only="an authorizer other than Kafka's StandardAuthorizer",
        refuses=lambda config, key, value: value not in ("", STANDARD_AUTHORIZER),
    ),
    Refusal(
        ("principal.builder.class",),
        "kafkapy loads no Java classes: principals would not be those that it makes.",
        "Leave it out.",
    ),
    Refusal(
        ("create.topic.policy.class.name", "alter.config.policy.class.name"),
        "kafkapy loads no Java classes: nothing would be checked by this policy.",
        "Leave it out, and let only those reach the node who may do what it would refuse.",
    ),
    Refusal(
        ("config.providers",),
        "kafkapy loads no Java classes: values like ${file:secrets:key} would be taken as they "
        "stand.",
        "Leave it out, and write the values themselves.",
    ),
    Refusal(
        ("client.quota.callback.class",),
        "kafkapy loads no Java classes: whose quota counts is decided as Kafka does by default.",
        "Leave it out.",
    ),
    Refusal(
        ("max.connections.per.ip.overrides",),
        "kafkapy looks up no names: whose connections they are is known by address.",
        "Write addresses.",
        only="a name instead of an address",
        refuses=lambda config, key, value: _has_names(value),
    ),
    Refusal(
        ("replica.selector.class",),
        "kafkapy loads no Java classes: consumers would all read from the leader.",
        "Leave it out, or name Kafka's RackAwareReplicaSelector.",
        only=f"another class than {RACK_AWARE_SELECTOR}",
        refuses=lambda config, key, value: value not in (None, RACK_AWARE_SELECTOR),
    ),
    Refusal(
        ("group.share.assignors",),
        "kafkapy loads no Java classes: partitions of share groups would be assigned as by simple.",
        "Leave it out, or name simple.",
        only="another assignor than simple",
        refuses=lambda config, key, value: value != ("simple",),
    ),
    Refusal(
        ("transaction.two.phase.commit.enable",),
        "kafkapy has no two-phase commit yet.",
        "Leave it out.",
    ),
    Refusal(
        ("remote.log.storage.system.enable", "remote.storage.enable"),
        "kafkapy has no tiered storage yet: nothing would be uploaded.",
        "Leave it out.",
    ),
)

_BY_KEY: Final = {key: refusal for refusal in REFUSALS for key in refusal.keys}


def refusal_of(key: str) -> Refusal | None:
    """What is refused of `key`, perhaps with a listener's prefix."""
    return _BY_KEY.get(base_name(key))


def kind_of(key: Key[Any]) -> Kind:
    refusal = refusal_of(key.name)
    if refusal is not None and not refusal.only:
        return Kind.REFUSED
    return Kind.ACTS if key.acted_on else Kind.WITHOUT_EFFECT


def refuse_unbuilt(
    config: "BrokerConfig", section: type[Section], given: Mapping[str, str]
) -> None:
    """ConfigError for the first of these settings that would be a false promise."""
    for name, text in given.items():
        key, refusal = section.table.get(base_name(name)), refusal_of(name)
        if key is None or refusal is None:
            continue
        if refusal.refuses(config, key, parse(key, text)):
            shown = "[hidden]" if key.is_sensitive else text.strip()
            raise ConfigError(name, shown, f"{refusal.why} {refusal.instead}")
